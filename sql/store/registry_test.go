package store

import (
	"errors"
	"testing"
	"time"

	"bellhop/scheduler"
)

func TestBury_OnlyWhoIsSilentOrProvenDead(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	kept := o.running()
	did, jobs, err := o.registry.Bury(t.Context(), o.me, "no heartbeat", false)
	if err != nil || did || jobs != 0 {
		t.Errorf("one that beats: %v, %d, %v", did, jobs, err)
	}
	o.want(kept.Claim.Job, "state", "running")
	o.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - lag - interval '1 s' where id = $1", int64(o.me))
	if did, jobs, err = o.registry.Bury(t.Context(), o.me, "no heartbeat", false); err != nil || !did || jobs != 1 {
		t.Errorf("one that is silent: %v, %d, %v", did, jobs, err)
	}
	if did, jobs, err = o.registry.Bury(t.Context(), o.me, "again", true); err != nil || did || jobs != 0 {
		t.Errorf("one that is buried: %v, %d, %v", did, jobs, err)
	}
	second := o.register("second", time.Hour)
	if did, _, err = o.registry.Bury(t.Context(), second, "its process 7 is gone", true); err != nil || !did {
		t.Errorf("one that is proven dead, though it has just beaten: %v, %v", did, err)
	}
	if err := o.registry.Beat(t.Context(), second, "beat"); !errors.Is(err, scheduler.ErrBuried) {
		t.Errorf("its next beat: %v", err)
	}
	if got := o.one("select format('%s: %s', state, gone_because) from bellhop.instance where id = $1", int64(second)); got != "gone: its process 7 is gone" {
		t.Errorf("its row says %s", got)
	}
}

func TestBury_FreesWhatTheDeadHeld(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	run, stopped, done := o.running(), o.running(), o.running()
	o.mustWrite(succeeded(done))
	o.exec("select bellhop.cancel($1)", int64(stopped.Claim.Job))
	o.insert("type, msq", "'cat', 'select 1'")
	msq := o.claim(assigned(1))[0]
	o.exec("update bellhop.jobqueue set items_done = 5, items_failed = 0 where id = $1", int64(msq.Claim.Job))
	second := o.register("second", time.Hour)
	o.insert("type", "'cat'")
	theirs, err := o.claimer.Claim(t.Context(), second, demand(1))
	if err != nil || len(theirs) != 1 {
		t.Fatal(theirs, err)
	}
	if err := o.registry.Children(t.Context(), o.me, []scheduler.ChildReport{{Host: "local", Name: "cat.1", Type: "cat", Pid: 5}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, jobs, err := o.registry.Bury(t.Context(), o.me, "dead", true); err != nil || jobs != 3 {
		t.Errorf("%d jobs freed, want 3 (%v)", jobs, err)
	}
	const look = "format('%s %s %s %s', state, attempt, fence, instance is null)"
	o.want(run.Claim.Job, look, "ready 0 1 t")
	o.want(stopped.Claim.Job, look, "cancelled 0 1 t")
	o.want(msq.Claim.Job, look+" || (items_done is null)", "ready 0 1 ttrue")
	o.want(done.Claim.Job, "state", "succeeded")
	o.want(theirs[0].Claim.Job, "state", "running")
	if n := o.one("select count(*) from bellhop.child where instance = $1", int64(o.me)); n != "0" {
		t.Errorf("%s children left", n)
	}
	if got := o.one("select string_agg(format('%s %s', job, level), ', ' order by job) from bellhop.log where line like '%is gone: dead; not counted%'"); got == "" {
		t.Error("nothing in the log of the jobs")
	}
	if stale := o.write(false, succeeded(run)); len(stale) != 1 { // had it only been asleep
		t.Error("the dead one's outcome was taken")
	}
}

func TestSuspects_AreTheOthersThatLive(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	quick, slow, gone := o.register("quick", 30*time.Second), o.register("slow", time.Hour), o.register("gone", time.Hour)
	o.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '1 minute'")
	if _, _, err := o.registry.Bury(t.Context(), gone, "dead", true); err != nil {
		t.Fatal(err)
	}
	list, err := o.registry.Suspects(t.Context(), o.me)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, s := range list { // each by the lag that it promised, on the database's clock
		if s.Silent != (s.ID == quick) || s.ID != quick && s.ID != slow || s.Machine != "m" || s.Pid != 1 || s.ProcessStart != "1" ||
			len(s.Types) != 1 || s.Types[0] != "cat" {
			t.Errorf("%+v", s)
		}
	}
	if err := o.registry.Beat(t.Context(), quick, "beat"); err != nil {
		t.Fatal(err)
	}
	if list, _ = o.registry.Suspects(t.Context(), slow); len(list) != 2 || list[0].Silent == list[1].Silent {
		t.Errorf("after a beat: %+v", list)
	}
}

func TestBeat_RingsItsOwnChannel(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("listen bellhop_beat_1")
	if err := o.registry.Beat(t.Context(), o.me, "bellhop_beat_1"); err != nil {
		t.Fatal(err)
	}
	if n, err := o.conn.WaitForNotification(t.Context()); err != nil || n.Channel != "bellhop_beat_1" {
		t.Errorf("heard %v, %v", n, err)
	}
}

func TestChildren_AreReplacedByEveryReport(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	now := time.Now()
	tell := func(all ...scheduler.ChildReport) string {
		if err := o.registry.Children(t.Context(), o.me, all, now); err != nil {
			t.Fatal(err)
		}
		return o.one("select string_agg(format('%s %s %s %s %s', name, state, pid, job, done), ', ' order by name) from bellhop.child")
	}
	a := scheduler.ChildReport{Host: "local", Name: "cat.1", Type: "cat", State: scheduler.ChildReady, Pid: 5, Since: now.Add(-time.Minute), Done: 1}
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
