package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// records are one of each kind of write about a claim.
func records(j scheduler.Job) map[string]scheduler.Record {
	return map[string]scheduler.Record{
		"success": succeeded(j),
		"failure": settle(j, scheduler.Result{ExitCode: 1, Error: "broken"},
			scheduler.Verdict{State: scheduler.Failed, Counts: true}),
		"retry": settle(j, scheduler.Result{ExitCode: 1},
			scheduler.Verdict{State: scheduler.Scheduled, Delay: time.Hour, Counts: true}),
		"end of MSQ": func() scheduler.Record {
			r := succeeded(j)
			r.Items = &scheduler.Items{Total: 1,
				Done: 1}
			return r
		}(),
		"give back":    {Kind: scheduler.RecordRequeue, Claim: j.Claim},
		"sleep":        {Kind: scheduler.RecordRequeue, Claim: j.Claim, Rest: &scheduler.Resting{Pause: time.Hour}},
		"await":        {Kind: scheduler.RecordRequeue, Claim: j.Claim, Rest: &scheduler.Resting{Event: "paid"}},
		"start":        {Kind: scheduler.RecordStart, Claim: j.Claim},
		"cancellation": settle(j, scheduler.Result{}, scheduler.Verdict{State: scheduler.Cancelled}),
	}
}

// A write under anything but the claim that holds changes nothing, and says so.
func TestRecord_GuardsChangeNothing(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for name := range records(scheduler.Job{}) {
		for how, change := range map[string]string{
			"fence":    "fence = fence + 1",
			"instance": "instance = instance + 1",
			"nobody's": "instance = null",
			"final":    "state = 'cancelled'",
			"ready":    "state = 'ready'",
			"deleted":  "",
		} {
			j := e.running()
			id := int64(j.Claim.Job)
			if change == "" {
				e.exec("delete from bellhop.jobqueue where id = $1", id)
			} else {
				e.exec("update bellhop.jobqueue set "+change+" where id = $1", id)
			}
			look := "select (select j::text from bellhop.jobqueue j where id = $1) || (select count(*) from bellhop.attempt_past)"
			before := e.one(look, id)
			stale := e.write(false, records(j)[name])
			if !slices.Equal(stale, []scheduler.Claim{j.Claim}) {
				t.Errorf("%s after a change of %s: stale %v, want %v", name, how, stale, j.Claim)
			}
			if after := e.one(look, id); after != before {
				t.Errorf("%s after a change of %s:\n%s\n%s", name, how, before, after)
			}
			e.exec("delete from bellhop.jobqueue")
		}
	}
}

func TestRecord_AFirstAttemptThatSucceeds(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	e.mustWrite(succeeded(j))
	e.want(j.Claim.Job, "format('%s %s %s %s %s %s', state, exit_code, child, successes, attempt, error is null)", "succeeded 0 cat.1 2 1 t")
	e.want(j.Claim.Job, "ended_at >= started_at", "true")
	if n := e.one("select count(*) from bellhop.attempt_past"); n != "0" {
		t.Errorf("%s rows beside the job's own", n)
	}
	if got := e.one("select format('%s %s %s %s', attempt, host, exit_code, successes) from bellhop.attempt where job = $1", int64(j.Claim.Job)); got != "1 local 0 2" {
		t.Errorf("bellhop.attempt: %s", got)
	}
}

func TestRecord_AFailureIsKeptAndTriedAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	id := j.Claim.Job
	e.mustWrite(
		settle(j, scheduler.Result{ExitCode: 139, Error: "died: \x00\xff segfault", Child: "cat.1", Ended: time.Now()},
			scheduler.Verdict{State: scheduler.Scheduled, Delay: 90 * time.Second, Counts: true, Death: true}))
	e.want(id, "format('%s %s %s %s %s', state, deaths, exit_code, waiting_for, ended_at is null)",
		"scheduled 1 139 retry_delay t")
	e.want(id, "round(extract(epoch from run_at - clock_timestamp()) / 10)", "9")
	if got := e.one("select format('%s %s %s %s', attempt, fence, exit_code, error) from bellhop.attempt_past where job = $1", int64(id)); got != "1 1 139 died: \uFFFD\uFFFD segfault" {
		t.Errorf("kept: %s", got)
	}
	started := e.column(id, "started_at")
	e.exec("update bellhop.jobqueue set run_at = clock_timestamp()")
	if n, _, err := e.maintenance.Due(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d due, %v", n, err)
	}
	again := e.claim(demand(1))[0]
	if again.Attempt != 2 || again.Fence != 2 || again.Deaths != 1 {
		t.Errorf("the second attempt: %+v", again)
	}
	e.mustWrite(succeeded(again))
	e.want(id, "format('%s %s %s', state, exit_code, error is null)", "succeeded 0 t")
	e.want(id, "started_at", started) // never reset
	e.want(id, "attempt_at > started_at", "true")
	if got := e.one("select string_agg(attempt || ':' || exit_code, ' ' order by attempt) from bellhop.attempt where job = $1", int64(id)); got != "1:139 2:0" {
		t.Errorf("attempts: %s", got)
	}
}

func TestRecord_WhatWasAskedToStopIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"retry", "give back"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			j := e.running()
			e.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
			e.mustWrite(records(j)[name])
			e.want(j.Claim.Job, "format('%s %s', state, ended_at is not null)", "cancelled t")
		})
	}
	e := openEnv(t)
	j := e.running()
	e.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
	e.mustWrite(succeeded(j)) // an OK that came before
	e.want(j.Claim.Job, "state", "succeeded")
}

func TestRecord_GiveBackUndoesTheAttempt(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	before := e.row(id)
	j := e.claim(assigned(1))[0] // assigned: it never started
	e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim, Why: "no_room"})
	e.want(id, "waiting_for", "no_room")
	e.exec("update bellhop.jobqueue set fence = 0, waiting_for = null") // all that is left of it
	if after := e.row(id); after != before {
		t.Errorf("before and after:\n%s\n%s", before, after)
	}
	j = e.claim(demand(1))[0]
	e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim})
	e.want(id, "format('%s %s %s %s', state, attempt, fence, started_at is not null)", "ready 0 1 t") // it has started once
	if n := e.one("select count(*) from bellhop.attempt where job = $1", int64(id)); n != "0" {
		t.Errorf("%s attempts", n)
	}
}

func TestRecord_StartOfAnAssignedJob(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	j := e.claim(assigned(1))[0]
	e.want(id, "format('%s %s %s', state, waiting_for, started_at is null)", "assigned child_starting t")
	start := scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}
	e.mustWrite(start)
	e.want(id, "format('%s %s %s', state, waiting_for, started_at is null)", "running  f")
	row := e.row(id)
	e.mustWrite(start) // what is known already
	if again := e.row(id); again != row {
		t.Errorf("a second start:\n%s\n%s", row, again)
	}
	// Taken back before its agent has seen it, and fed again: two starts in one batch are one.
	id = e.insert("type", "'cat'")
	j = e.claim(assigned(1))[0]
	start = scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}
	e.mustWrite(start, start)
	e.want(id, "state", "running")
	e.mustWrite(start, start, succeeded(j))
	e.want(id, "state", "succeeded")
	// Start and end within one batch.
	id = e.insert("type", "'cat'")
	j = e.claim(assigned(1))[0]
	e.mustWrite(succeeded(j), scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim})
	e.want(id, "format('%s %s', state, started_at <= ended_at)", "succeeded t")
	// However late it is written: it began when the line was given.
	id = e.insert("type, created_at", "'cat', clock_timestamp() - interval '1 hour'")
	j = e.claim(assigned(1))[0]
	now, end := time.Now(), succeeded(j)
	end.Result.Ended = now.Add(-time.Minute)
	e.mustWrite(
		scheduler.Record{
			Kind:     scheduler.RecordStart,
			Claim:    j.Claim,
			Given:    now.Add(-2 * time.Minute),
			Launched: now.Add(-5 * time.Minute),
		},
		end,
	)
	e.want(
		id,
		"format('%s %s %s %s', state, round(extract(epoch from clock_timestamp() - ended_at) / 60), round(extract(epoch from ended_at - started_at)), "+
			"round(extract(epoch from started_at - spawned_at)))",
		"succeeded 1 60 180",
	)
	// And an attempt whose child was up has none of an earlier one's.
	id = e.insert("type, spawned_at", "'cat', clock_timestamp()")
	e.mustWrite(succeeded(e.claim(demand(1))[0]))
	e.want(id, "spawned_at is null", "true")
}

// A failover may have lost the write of a start, and not the claim before it. The outcome brings the start along: a job
// that has ended has begun, and its attempt is listed.
func TestRecord_AnOutcomeWhoseStartWasLost(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for name := range records(scheduler.Job{}) {
		j := e.running()
		rec := records(j)[name]
		if rec.Kind != scheduler.RecordSettle {
			continue
		}
		e.exec("update bellhop.jobqueue set state = 'assigned', started_at = null where id = $1", int64(j.Claim.Job))
		e.mustWrite(rec)
		e.want(j.Claim.Job, "started_at is not null and (ended_at is null or ended_at >= started_at)", "true")
		if n := e.one("select count(*) from bellhop.attempt where job = $1", int64(j.Claim.Job)); n != "1" {
			t.Errorf("%s: %s attempts are listed", name, n)
		}
		e.exec("delete from bellhop.jobqueue")
	}
}

// After a commit whose answer was lost the same batch is written again.
func TestRecord_AgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for name := range records(scheduler.Job{}) {
		j := e.running()
		rec := records(j)[name]
		e.mustWrite(rec)
		row := e.row(j.Claim.Job)
		if stale := e.write(true, rec); len(stale) > 0 {
			t.Errorf("%s: again, and it is stale: %v", name, stale)
		}
		if stale := e.write(true, scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}, rec); len(stale) > 0 {
			t.Errorf("%s with its start: again, and it is stale: %v", name, stale)
		}
		if again := e.row(j.Claim.Job); again != row {
			t.Errorf("%s: again changed the row:\n%s\n%s", name, row, again)
		}
		if n := e.one("select count(*) from bellhop.attempt_past where job = $1", int64(j.Claim.Job)); n > "1" {
			t.Errorf("%s: %s attempts kept", name, n)
		}
		e.exec("delete from bellhop.jobqueue")
	}
	// Failed, recorded, and claimed for its next attempt before the answer was known to be lost.
	once := e.running()
	retry := settle(once, scheduler.Result{ExitCode: 1}, scheduler.Verdict{State: scheduler.Ready, Counts: true})
	e.mustWrite(retry)
	twice := e.claim(demand(1))[0]
	if stale := e.write(true, retry); len(stale) > 0 || twice.Claim.Job != once.Claim.Job {
		t.Errorf("recorded, and tried again since: stale %v", stale)
	}
	e.want(once.Claim.Job, "format('%s %s', state, attempt)", "running 2")
	e.exec("delete from bellhop.jobqueue")
	// Given back, and claimed again since: that is what it was given back for.
	j := e.running()
	back := scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim}
	e.mustWrite(back)
	e.claim(demand(1))
	if stale := e.write(true, back); len(stale) > 0 {
		t.Errorf("given back, and claimed since: stale %v", stale)
	}
	start := scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}
	if stale := e.write(true, start, back); len(stale) > 0 {
		t.Errorf("given back with its start, and claimed since: stale %v", stale)
	}
	e.want(j.Claim.Job, "format('%s %s', state, fence)", "running 2")
	if stale := e.write(false, back); len(stale) != 1 { // who has never written it has lost it
		t.Errorf("taken over: stale %v", stale)
	}
}

// A crash has undone the claim; the outcome finds no row of ours, and before
// anybody looks whether it is recorded already, the job is taken again.
func TestRecord_AgainWhileTheClaimIsTakenAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	j := e.running()
	e.exec("update bellhop.jobqueue set state = 'ready', fence = 0, attempt = 0, instance = null")
	e.exec(fmt.Sprintf(`create function taken_again() returns trigger language plpgsql as $$
		begin
			if pg_trigger_depth() = 1 then
				update bellhop.jobqueue set state = 'running', fence = 1, attempt = 1, instance = %d where state = 'ready';
			end if;
			return null;
		end $$`, e.me))
	e.exec("create trigger taken_again after update on bellhop.jobqueue for each statement execute function taken_again()")
	if stale := e.write(true, succeeded(j)); len(stale) != 1 {
		t.Errorf("it is taken for recorded: %v", stale)
	}
	e.exec("drop trigger taken_again on bellhop.jobqueue")
	e.mustWrite(succeeded(j))
	e.want(j.Claim.Job, "state", "succeeded")
}

func TestRecord_AllThatAChildSaid(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.insert("type, msq", "'cat', 'select 1'")
	j := e.claim(demand(1))[0]
	now := time.Now()
	b := scheduler.Batch{
		Entries: []scheduler.Entry{
			{Claim: j.Claim, Attempt: 1, Child: "cat.1", Host: "local", Level: scheduler.LevelErr, At: now.Add(-time.Hour), Text: "first\x00 \xff"},
			{Level: scheduler.LevelNote, Text: "said outside any job"},
		},
		Progress: []scheduler.Progress{{Claim: j.Claim, Items: scheduler.Items{Total: -1, Done: 5, Failed: 1}},
			{Claim: scheduler.Claim{Job: j.Claim.Job, Fence: 99}, Items: scheduler.Items{Total: 7, Done: 7}}},
		Failed: []scheduler.FailedItem{{Claim: j.Claim, Item: 3, Line: `id="3"`, Tries: 3, ExitCode: 2, Error: "bad"}},
	}
	for range 2 { // twice is as good as once, the log excepted
		if stale, _, err := e.recorder.Write(t.Context(), e.me, b, now); err != nil || len(stale) > 0 {
			t.Fatal(stale, err)
		}
	}
	e.want(j.Claim.Job, "format('%s %s %s%s', items_total, items_done, items_failed, progress)", " 5 1")
	items := scheduler.Items{Total: 8, Done: 5, Failed: 1}
	read := scheduler.Batch{Progress: []scheduler.Progress{{Claim: j.Claim, Items: items}}}
	if _, _, err := e.recorder.Write(t.Context(), e.me, read, now); err != nil {
		t.Fatal(err)
	}
	e.want(j.Claim.Job, "progress", "0.75") // of its items
	if got := e.one("select format('%s %s %s %s %s', item, line, tries, exit_code, error) from bellhop.item where job = $1", int64(j.Claim.Job)); got != `3 id="3" 3 2 bad` {
		t.Errorf("item: %s", got)
	}
	if got := e.one("select format('%s %s %s %s %s', level, attempt, child, line, round(extract(epoch from clock_timestamp() - at) / 60)) from bellhop.log where job = $1 limit 1", int64(j.Claim.Job)); got != "err 1 cat.1 first\uFFFD \uFFFD 60" {
		t.Errorf("log: %s", got)
	}
	if got := e.one("select count(*) from bellhop.log where job is null and child is null"); got != "2" {
		t.Errorf("outside any job: %s", got)
	}
	r := succeeded(j)
	r.Items = &scheduler.Items{Total: 6, Done: 6}
	e.mustWrite(r)
	e.want(j.Claim.Job, "format('%s %s %s %s', state, items_total, items_done, items_failed)", "succeeded 6 6 0")
	e.want(j.Claim.Job, "(select count(*) from bellhop.attempt where job = id)", "1")
}

// What the database refuses it will refuse again; a lost connection it will not.
func TestRecord_RefusedOrOutOfReach(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	good, bad := e.running(), e.running()
	_, _, err := e.recorder.Write(t.Context(), e.me, scheduler.Batch{Records: []scheduler.Record{succeeded(good),
		settle(bad, scheduler.Result{}, scheduler.Verdict{State: "bogus"})}}, time.Now())
	if !errors.Is(err, scheduler.ErrRefused) || !strings.Contains(err.Error(), "jobqueue_state_known") {
		t.Errorf("error is %v", err)
	}
	e.want(good.Claim.Job, "state", "running") // all or nothing
	e.drop("recorder")
	_, _, err = e.recorder.Write(t.Context(), e.me, scheduler.Batch{Records: []scheduler.Record{succeeded(good)}},
		time.Now())
	var lost *scheduler.Unreachable
	if errors.Is(err, scheduler.ErrRefused) || !errors.As(err, &lost) {
		t.Errorf("error is %v", err)
	}
	e.mustWrite(succeeded(good))
	e.want(good.Claim.Job, "state", "succeeded")
}
