package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// The guard of an instance that is killed gives its jobs back. There is no other instance here.
func TestBury_AKilledInstanceGivesItsJobsBack(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve("instance: {heartbeat: 1m, lag: 1h}\nhosts: [{name: local, slots: 20}]\n" +
		agents(j.agent("work", "exec")))
	e.insertMany(20, "hold")
	j.waitRunning(e, i, 20)
	killed := time.Now()
	i.kill()
	e.eventually("its jobs wait for another instance",
		"select count(*) = 20 from bellhop.jobqueue where state = 'ready' and attempt = 0 and instance is null")
	took := time.Since(killed)
	if left := j.alive(); len(left) > 0 {
		t.Errorf("jobs were given back while %d of their agents lived", len(left))
	}
	if why := value[string](e, "select gone_because from bellhop.instance where id = $1", i.id); !strings.Contains(why, "is gone") {
		t.Errorf("its row says: %s", why)
	}
	t.Logf("given back %v after SIGKILL", took.Round(time.Millisecond))
}

// An instance that stands still is left alone, however its guard is asked; so is one that ends by itself, and one whose
// guard alone was killed.
func TestBury_LeavesTheLivingAlone(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve(calm(4) + agents(j.agent("work", "exec")))
	e.insertMany(2, "hold")
	j.waitRunning(e, i, 2)
	before := e.whoRuns()
	i.signal(syscall.SIGSTOP)
	for range 3 {
		e.ok("bury", value[string](e, "select $1::int8::text", i.id))
	}
	if now := e.whoRuns(); now != before {
		t.Errorf("jobs of an instance that stands still:\n%s\nwere\n%s", now, before)
	}
	i.signal(syscall.SIGCONT)
	j.letGo()
	e.waitAll("succeeded 2")
	if r := e.run("bury", "x"); r.code != 2 {
		t.Errorf("a word in place of a number: %+v", r)
	}
}

// A database that is away when the instance dies hears of it when it is back.
func TestBury_WaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	c, e := setupOwn(t)
	j := newJournal(t)
	i := e.serve("instance: {heartbeat: 1m, lag: 1h}\n" + agents(j.agent("work", "exec")))
	e.insertMany(1, "hold")
	j.waitRunning(e, i, 1)
	c.Kill()
	i.kill()
	pgtest.Eventually(t, patience, "its agent is dead", func() bool { return len(j.alive()) == 0 })
	if err := c.Restart(t.Context(), "immediate"); err != nil {
		t.Fatal(err)
	}
	e.pool.Reset()
	e.eventually("it is buried", "select exists (select from bellhop.instance where state = 'gone')")
	if n := len(i.started()); n > 1 {
		t.Errorf("%d processes are left of it", n)
	}
}
