package store

import (
	"testing"

	"bellhop/scheduler"
)

// A job whose dependencies are not counted yet, as it comes with triggers
// disabled, may not start, and every statement that asks what may start looks
// past it: else it would keep others from starting, or have room made for it,
// until a round has counted.
func TestUncounted_NothingIsDoneForAJobThatMayNotStart(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	needed := e.insert("type, held", "'bird', true")
	e.exec("set session_replication_role = replica")
	for _, values := range []string{"'dog', null, null", "'dog', null, 'local'", "'dummy', null, null", "'command', 'pause cat', null"} {
		job := e.insert("type, args, run_on, priority", values+", -20")
		e.depend(job, needed)
		e.want(job, "state", "ready")
	}
	e.exec("set session_replication_role = origin")
	cat := e.insert("type", "'cat'")
	names := []string{"local"}

	waiting, _, err := e.maintenance.Backlog(t.Context(), []scheduler.TypeName{"cat", "dog"}, nil, names)
	if err != nil || len(waiting) != 1 || waiting[0].Type != "cat" {
		t.Errorf("there wait %+v, %v", waiting, err)
	}
	waiting, inHand, err := e.maintenance.Backlog(t.Context(), []scheduler.TypeName{"cat", "dog"}, []scheduler.TypeName{"cat", "dog"}, names)
	if err != nil || len(waiting) != 1 || len(inHand) != 0 {
		t.Errorf("looked at closely, there wait %+v, in hand are %v, %v", waiting, inHand, err)
	}
	if standing, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil || len(standing.Paused) > 0 {
		t.Errorf("the command is obeyed: %+v, %v", standing, err)
	}
	e.exec("select bellhop.pass_dummies()")
	dogs := scheduler.Demand{Host: "local", Localities: names, Total: 9, MSQ: true, Types: []scheduler.TypeDemand{{Type: "dog", Limit: 9, MaxPriority: 19}}}
	if jobs := e.claim(dogs); len(jobs) > 0 {
		t.Errorf("claimed %v", ids(jobs))
	}
	d := demand(9)
	d.Preemptors = []scheduler.TypeName{"dog"}
	if jobs := e.claim(d); len(jobs) != 1 || jobs[0].Claim.Job != cat {
		t.Errorf("claimed %v: a job that may not start keeps others from starting", ids(jobs))
	}
	if n := e.one("select count(*) from bellhop.jobqueue where state <> 'ready' and priority = -20"); n != "0" {
		t.Errorf("%s of those that may not start have", n)
	}
}
