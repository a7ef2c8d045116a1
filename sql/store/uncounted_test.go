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
	o := openOffice(t)
	needed := o.insert("type, held", "'bird', true")
	o.exec("set session_replication_role = replica")
	for _, values := range []string{"'dog', null, null", "'dog', null, 'local'", "'dummy', null, null", "'command', 'pause cat', null"} {
		job := o.insert("type, args, run_on, priority", values+", -20")
		o.depend(job, needed)
		o.want(job, "state", "ready")
	}
	o.exec("set session_replication_role = origin")
	cat := o.insert("type", "'cat'")
	names := []string{"local"}

	waiting, _, err := o.keeper.Crowds(t.Context(), []scheduler.TypeName{"cat", "dog"}, nil, names)
	if err != nil || len(waiting) != 1 || waiting[0].Type != "cat" {
		t.Errorf("there wait %+v, %v", waiting, err)
	}
	waiting, inHand, err := o.keeper.Crowds(t.Context(), []scheduler.TypeName{"cat", "dog"}, []scheduler.TypeName{"cat", "dog"}, names)
	if err != nil || len(waiting) != 1 || len(inHand) != 0 {
		t.Errorf("looked at closely, there wait %+v, in hand are %v, %v", waiting, inHand, err)
	}
	if standing, err := o.keeper.Obey(t.Context(), o.me); err != nil || len(standing.Paused) > 0 {
		t.Errorf("the command is obeyed: %+v, %v", standing, err)
	}
	o.exec("select bellhop.pass_dummies()")
	dogs := scheduler.Demand{Host: "local", Answers: names, Total: 9, MSQ: true, Types: []scheduler.TypeDemand{{Type: "dog", Most: 9, Worst: 19}}}
	if jobs := o.claim(dogs); len(jobs) > 0 {
		t.Errorf("claimed %v", ids(jobs))
	}
	d := demand(9)
	d.Rivals = []scheduler.TypeName{"dog"}
	if jobs := o.claim(d); len(jobs) != 1 || jobs[0].Claim.Job != cat {
		t.Errorf("claimed %v: a job that may not start keeps others from starting", ids(jobs))
	}
	if n := o.one("select count(*) from bellhop.jobqueue where state <> 'ready' and priority = -20"); n != "0" {
		t.Errorf("%s of those that may not start have", n)
	}
}
