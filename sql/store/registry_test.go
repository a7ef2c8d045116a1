package store

import (
	"errors"
	"testing"
	"time"

	"bellhop/scheduler"
)

func TestMarkGone_OnlyWhoIsSilentOrProvenDead(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	kept := e.running()
	did, jobs, err := e.registry.MarkGone(t.Context(), e.me, "no heartbeat", false)
	if err != nil || did || jobs != 0 {
		t.Errorf("one that beats: %v, %d, %v", did, jobs, err)
	}
	e.want(kept.Claim.Job, "state", "running")
	e.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - lag - interval '1 s' where id = $1",
		int64(e.me))
	if did, jobs, err = e.registry.MarkGone(t.Context(), e.me, "no heartbeat", false); err != nil || !did || jobs != 1 {
		t.Errorf("one that is silent: %v, %d, %v", did, jobs, err)
	}
	if did, jobs, err = e.registry.MarkGone(t.Context(), e.me, "again", true); err != nil || did || jobs != 0 {
		t.Errorf("one that is buried: %v, %d, %v", did, jobs, err)
	}
	second := e.register("second", time.Hour)
	if did, _, err = e.registry.MarkGone(t.Context(), second, "its process 7 is gone", true); err != nil || !did {
		t.Errorf("one that is proven dead, though it has just beaten: %v, %v", did, err)
	}
	if _, err := e.registry.Beat(t.Context(), second, "beat"); !errors.Is(err, scheduler.ErrGone) {
		t.Errorf("its next beat: %v", err)
	}
	if got := e.one("select format('%s: %s', state, gone_because) from bellhop.instance where id = $1", int64(second)); got != "gone: its process 7 is gone" {
		t.Errorf("its row says %s", got)
	}
}

// A standby that was promoted may lack the last heartbeats of instances that live: their leases go on.
func TestMarkGone_APromotedServerGivesEachInstanceItsLag(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	second := e.register("second", 10*time.Second)
	e.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '1 h' where id = $1", int64(second))
	for _, c := range []struct {
		era  string
		dead bool
	}{
		{"delete from bellhop.era_now", false}, // no instance has come yet
		{"insert into bellhop.era_now (floor, began_at) values (1, clock_timestamp() - interval '9 s')", false},
		{"update bellhop.era_now set began_at = clock_timestamp() - interval '11 s'", true},
		{"update bellhop.era_now set floor = 0, began_at = clock_timestamp()", true}, // the first era begins with nothing
	} {
		e.exec(c.era)
		e.exec("update bellhop.instance set state = 'live' where id = $1", int64(second))
		suspects, err := e.registry.Suspects(t.Context(), e.me)
		if err != nil || len(suspects) != 1 || suspects[0].Silent != c.dead {
			t.Errorf("after %s: %+v, %v", c.era, suspects, err)
		}
		if did, _, err := e.registry.MarkGone(t.Context(), second, "no heartbeat", false); err != nil || did != c.dead {
			t.Errorf("after %s: buried: %v, %v", c.era, did, err)
		}
	}
}

func TestMarkGone_FreesWhatTheDeadHeld(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	run, stopped, done := e.running(), e.running(), e.running()
	e.mustWrite(succeeded(done))
	e.exec("select bellhop.cancel($1)", int64(stopped.Claim.Job))
	e.insert("type, msq", "'cat', 'select 1'")
	msq := e.claim(assigned(1))[0]
	e.exec("update bellhop.jobqueue set items_done = 5, items_failed = 0 where id = $1", int64(msq.Claim.Job))
	second := e.register("second", time.Hour)
	e.insert("type", "'cat'")
	theirs, err := e.claimer.Claim(t.Context(), second, demand(1))
	if err != nil || len(theirs) != 1 {
		t.Fatal(theirs, err)
	}
	if err := e.registry.Children(t.Context(), e.me, []scheduler.ChildReport{{Host: "local", Name: "cat.1", Type: "cat",
		Pid: 5}}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, jobs, err := e.registry.MarkGone(t.Context(), e.me, "dead", true); err != nil || jobs != 3 {
		t.Errorf("%d jobs freed, want 3 (%v)", jobs, err)
	}
	const look = "format('%s %s %s %s', state, attempt, fence, instance is null)"
	e.want(run.Claim.Job, look, "ready 0 1 t")
	e.want(stopped.Claim.Job, look, "cancelled 0 1 t")
	e.want(msq.Claim.Job, look+" || (items_done is null)", "ready 0 1 ttrue")
	e.want(done.Claim.Job, "state", "succeeded")
	e.want(theirs[0].Claim.Job, "state", "running")
	if n := e.one("select count(*) from bellhop.child where instance = $1", int64(e.me)); n != "0" {
		t.Errorf("%s children left", n)
	}
	if got := e.one("select string_agg(format('%s %s', job, level), ', ' order by job) from bellhop.log where line like '%is gone: dead; not counted%'"); got == "" {
		t.Error("nothing in the log of the jobs")
	}
	if stale := e.write(false, succeeded(run)); len(stale) != 1 { // had it only been asleep
		t.Error("the dead one's outcome was taken")
	}
}

func TestSuspects_AreTheOthersThatLive(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	quick, slow, gone := e.register("quick", 30*time.Second), e.register("slow", time.Hour), e.register("gone", time.Hour)
	e.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '1 minute'")
	if _, _, err := e.registry.MarkGone(t.Context(), gone, "dead", true); err != nil {
		t.Fatal(err)
	}
	list, err := e.registry.Suspects(t.Context(), e.me)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range list { // each by the lag that it promised, on the database's clock
		if s.Silent != (s.ID == quick) || s.ID != quick && s.ID != slow || s.Machine != "m" || s.Pid != 1 ||
			s.ProcessStart != "1" ||
			len(s.Types) != 1 || s.Types[0] != "cat" {
			t.Errorf("%+v", s)
		}
	}
	if _, err := e.registry.Beat(t.Context(), quick, "beat"); err != nil {
		t.Fatal(err)
	}
	if list, _ = e.registry.Suspects(t.Context(), slow); len(list) != 2 || list[0].Silent == list[1].Silent {
		t.Errorf("after a beat: %+v", list)
	}
}

func TestBeat_RingsItsOwnChannel(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("listen bellhop_beat_1")
	if _, err := e.registry.Beat(t.Context(), e.me, "bellhop_beat_1"); err != nil {
		t.Fatal(err)
	}
	if n, err := e.conn.WaitForNotification(t.Context()); err != nil || n.Channel != "bellhop_beat_1" {
		t.Errorf("heard %v, %v", n, err)
	}
}

func TestChildren_AreReplacedByEveryReport(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	now := time.Now()
	tell := func(all ...scheduler.ChildReport) string {
		if err := e.registry.Children(t.Context(), e.me, all, nil, now); err != nil {
			t.Fatal(err)
		}
		return e.one("select string_agg(format('%s %s %s %s %s', name, state, pid, job, done), ', ' order by name) from bellhop.child")
	}
	a := scheduler.ChildReport{
		Host:  "local",
		Name:  "cat.1",
		Type:  "cat",
		State: scheduler.ChildReady,
		Pid:   5,
		Since: now.Add(-time.Minute),
		Done:  1,
	}
	b := scheduler.ChildReport{Host: "local", Name: "cat.2", Type: "cat", State: scheduler.Prep, Since: now}
	if got := tell(a, b); got != "cat.1 READY 5  1, cat.2 PREP   0" {
		t.Error(got)
	}
	a.State, a.Job = scheduler.Busy, 7
	if got := tell(a); got != "cat.1 RUNNING 5 7 1" {
		t.Error(got)
	}
	if got := tell(); got != "" {
		t.Error(got)
	}
}
