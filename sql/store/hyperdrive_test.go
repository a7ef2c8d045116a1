package store

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
)

// What went wrong in Hyperdrive-Trigger's scheduler, each by the number of its issue. Nothing of it may come back.

const anHour = `{"every":"1h"}`

// #368: several instances work on the same workflows. Each has a part, nobody has none.
func TestHyperdrive_368_SeveralInstances(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		e.apply(name, anHour, chain)
	}
	e.register("second", time.Minute)
	e.register("third", time.Minute)
	turn(e, s)
	e.owners("2 2 2")
}

// #395: nobody takes itself for dead, however late it is.
func TestHyperdrive_395_NobodyDeactivatesItself(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	other := e.register("other", time.Second)
	e.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '1 h'")
	list, err := e.registry.Suspects(t.Context(), e.me)
	if err != nil || len(list) != 1 || list[0].ID != other {
		t.Errorf("suspects of %d are %+v, %v", e.me, list, err)
	}
}

// #703: heartbeats are on the database's clock: no statement takes an instance's time, the one that registers neither.
func TestHyperdrive_703_ClocksThatDiffer(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	if _, err := e.registry.Beat(t.Context(), e.me, "channel"); err != nil {
		t.Fatal(err)
	}
	if got := e.one("select bool_and(heartbeat_at between clock_timestamp() - interval '1 min' and clock_timestamp() and started_at <= heartbeat_at) from bellhop.instance"); got != "true" {
		t.Error("a heartbeat is not of the database's clock")
	}
	for _, text := range []string{registerSQL, beatSQL, suspectsSQL} {
		if strings.Contains(text, "::timestamptz") {
			t.Errorf("a time is handed over: %s", text)
		}
	}
}

// #738: who was taken for dead does not stop for good: it comes back under a new id, and gets its part.
// #801: and its sensors fire again.
func TestHyperdrive_738_801_ComesBackAndFires(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s, w := desk(e, NewSensors), desk(e, NewWatches)
	e.apply("cron", `{"cron":"* * * * * *","catch_up":"all"}`, chain)
	e.apply("said", `{"notify":"x"}`, chain)
	e.exec(`update bellhop.instance set watches = '{"notify":true}'`)
	turn(e, s)
	e.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '1 h'")
	if did, _, err := e.registry.MarkGone(t.Context(), e.me, "silent", false); !did || err != nil {
		t.Fatal(did, err)
	}
	if _, err := e.registry.Beat(t.Context(), e.me, "channel"); !errors.Is(err, scheduler.ErrGone) {
		t.Errorf("its next heartbeat: %v", err)
	}
	seen := []workflow.Happening{{Event: "1"}}
	if mine, err := w.Happened(t.Context(), e.me, "said", workflow.Sight{Events: seen}); mine || err != nil {
		t.Errorf("one that was taken for dead tells: %t, %v", mine, err)
	}
	before := e.me
	e.me = e.register("first", time.Minute)
	e.exec(`update bellhop.instance set watches = '{"notify":true}' where id = $1`, int64(e.me))
	if e.me == before {
		t.Fatal("it came back under the same id")
	}
	turn(e, s)
	e.owners("2")
	if mine, err := w.Happened(t.Context(), e.me, "said", workflow.Sight{Events: seen}); !mine || err != nil {
		t.Errorf("come back, it tells nothing: %t, %v", mine, err)
	}
	e.exec("update bellhop.sensor set next_fire = now() - interval '1 s' where workflow = 'cron'")
	if n, _ := turn(e, s); n < 2 {
		t.Errorf("come back, %d fired", n)
	}
}

// #804: looks that are made at the same time, by several instances, come to one run for each event.
func TestHyperdrive_804_LooksAtTheSameTime(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_event('w', g::text) from generate_series(1, 40) g")
	var group sync.WaitGroup
	for range 4 {
		s := desk(e, NewSensors)
		group.Go(func() {
			for range 10 {
				if _, _, err := s.Turn(t.Context(), e.me); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	s := desk(e, NewSensors)
	turn(e, s)
	if got := e.one("select count(*) || ' ' || count(distinct event) || ' ' || count(*) filter (where state in ('queued', 'running')) from bellhop.run"); got != "40 40 2" {
		t.Errorf("runs, events, open ones: %s", got)
	}
}

// The last writer does not win: an outcome of who was taken for dead is not recorded, whoever has the job now.
func TestHyperdrive_LastWriterWins(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.running()
	e.exec("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '1 h'")
	if did, _, err := e.registry.MarkGone(t.Context(), e.me, "silent", false); !did || err != nil {
		t.Fatal(did, err)
	}
	if stale := e.write(false, succeeded(first)); len(stale) != 1 {
		t.Errorf("%d outcomes were refused", len(stale))
	}
	if got := e.one("select state from bellhop.jobqueue"); got == "succeeded" {
		t.Error("the outcome of one that was taken for dead was recorded")
	}
}

// Nothing is remembered by the number of instances and the highest id: whatever comes and goes is seen at once.
func TestHyperdrive_SteadyCache(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	second := e.register("second", time.Minute)
	for _, name := range []string{"b", "c", "d", "e"} {
		e.apply(name, anHour, chain)
	}
	turn(e, s)
	e.owners("2 2")
	e.exec("select bellhop.workflow_change(name, 'deleted') from bellhop.workflow where instance = $1", int64(second))
	if got := e.one("select bellhop.unassigned()"); got != "true" {
		t.Error("that workflows were deleted is not noticed")
	}
	e.exec("update bellhop.run set state = 'failed' where state in ('queued', 'running')")
	turn(e, s)
	e.owners("1 1")
	e.apply("a", anHour, chain) // before all others
	if got := e.one("select bellhop.unassigned()"); got != "true" {
		t.Error("one that stands before the others is not noticed")
	}
}

// An instance that stops gives all at once: nobody waits for its lag.
func TestHyperdrive_StoppedInstance(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	second := e.register("second", time.Hour)
	e.apply("a", anHour, chain)
	e.apply("b", anHour, chain)
	turn(e, s)
	if _, _, err := e.registry.MarkGone(t.Context(), second, "it was stopped", true); err != nil {
		t.Fatal(err)
	}
	turn(e, s)
	e.owners("2")
}

// Lost notifications: who is to be told is written with the end of the run, in its transaction, whatever is or is not
// known of why it failed.
func TestHyperdrive_LostNotifications(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`select bellhop.workflow_apply('{"workflow":"w","steps":[{"name":"a","type":"cat"}],"notify":[{"when":["failed"],"mail":["ops@example.org"]}]}')`)
	e.exec("select bellhop.workflow_run('w')")
	release := e.holding("select bellhop.run_ended(1, 'failed', null)")
	release() // rolled back
	if got := e.one("select count(*) from bellhop.run_end"); got != "0" {
		t.Errorf("%s notices of a run that is not over", got)
	}
	e.exec("select bellhop.run_ended(1, 'failed', null)")
	if got := e.one("select count(*) from bellhop.run_end"); got != "1" {
		t.Errorf("%s ends that somebody is to be told of", got)
	}
}
