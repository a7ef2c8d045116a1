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
		"success":      succeeded(j),
		"failure":      settle(j, scheduler.Result{ExitCode: 1, Error: "broken"}, scheduler.Verdict{State: scheduler.Failed, Counts: true}),
		"retry":        settle(j, scheduler.Result{ExitCode: 1}, scheduler.Verdict{State: scheduler.Scheduled, Delay: time.Hour, Counts: true}),
		"end of MSQ":   func() scheduler.Record { r := succeeded(j); r.Items = &scheduler.Items{Total: 1, Done: 1}; return r }(),
		"give back":    {Kind: scheduler.RecordGiveBack, Claim: j.Claim},
		"start":        {Kind: scheduler.RecordStart, Claim: j.Claim},
		"cancellation": settle(j, scheduler.Result{}, scheduler.Verdict{State: scheduler.Cancelled}),
	}
}

// A write under anything but the claim that holds changes nothing, and says so.
func TestRecord_GuardsChangeNothing(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for name := range records(scheduler.Job{}) {
		for how, change := range map[string]string{
			"fence":    "fence = fence + 1",
			"instance": "instance = instance + 1",
			"nobody's": "instance = null",
			"final":    "state = 'cancelled'",
			"ready":    "state = 'ready'",
			"deleted":  "",
		} {
			j := o.running()
			id := int64(j.Claim.Job)
			if change == "" {
				o.exec("delete from bellhop.jobqueue where id = $1", id)
			} else {
				o.exec("update bellhop.jobqueue set "+change+" where id = $1", id)
			}
			look := "select (select j::text from bellhop.jobqueue j where id = $1) || (select count(*) from bellhop.attempt_past)"
			before := o.one(look, id)
			stale := o.write(false, records(j)[name])
			if !slices.Equal(stale, []scheduler.Claim{j.Claim}) {
				t.Errorf("%s after a change of %s: stale %v, want %v", name, how, stale, j.Claim)
			}
			if after := o.one(look, id); after != before {
				t.Errorf("%s after a change of %s:\n%s\n%s", name, how, before, after)
			}
			o.exec("delete from bellhop.jobqueue")
		}
	}
}

func TestRecord_AFirstAttemptThatSucceeds(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	j := o.running()
	o.mustWrite(succeeded(j))
	o.want(j.Claim.Job, "format('%s %s %s %s %s %s', state, exit_code, child, successes, attempt, error is null)", "succeeded 0 cat.1 2 1 t")
	o.want(j.Claim.Job, "ended_at >= started_at", "true")
	if n := o.one("select count(*) from bellhop.attempt_past"); n != "0" {
		t.Errorf("%s rows beside the job's own", n)
	}
	if got := o.one("select format('%s %s %s %s', attempt, host, exit_code, successes) from bellhop.attempt where job = $1", int64(j.Claim.Job)); got != "1 local 0 2" {
		t.Errorf("bellhop.attempt: %s", got)
	}
}

func TestRecord_AFailureIsKeptAndTriedAgain(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	j := o.running()
	id := j.Claim.Job
	o.mustWrite(settle(j, scheduler.Result{ExitCode: 139, Error: "died: \x00\xff segfault", Child: "cat.1", Ended: time.Now()},
		scheduler.Verdict{State: scheduler.Scheduled, Delay: 90 * time.Second, Counts: true, Death: true}))
	o.want(id, "format('%s %s %s %s %s', state, deaths, exit_code, waiting_for, ended_at is null)", "scheduled 1 139 retry_delay t")
	o.want(id, "round(extract(epoch from run_at - clock_timestamp()) / 10)", "9")
	if got := o.one("select format('%s %s %s %s', attempt, fence, exit_code, error) from bellhop.attempt_past where job = $1", int64(id)); got != "1 1 139 died: \uFFFD\uFFFD segfault" {
		t.Errorf("kept: %s", got)
	}
	started := o.column(id, "started_at")
	o.exec("update bellhop.jobqueue set run_at = clock_timestamp()")
	if n, _, err := o.keeper.Due(t.Context()); err != nil || n != 1 {
		t.Fatalf("%d due, %v", n, err)
	}
	again := o.claim(demand(1))[0]
	if again.Attempt != 2 || again.Fence != 2 || again.Deaths != 1 {
		t.Errorf("the second attempt: %+v", again)
	}
	o.mustWrite(succeeded(again))
	o.want(id, "format('%s %s %s', state, exit_code, error is null)", "succeeded 0 t")
	o.want(id, "started_at", started) // never reset
	o.want(id, "attempt_at > started_at", "true")
	if got := o.one("select string_agg(attempt || ':' || exit_code, ' ' order by attempt) from bellhop.attempt where job = $1", int64(id)); got != "1:139 2:0" {
		t.Errorf("attempts: %s", got)
	}
}

func TestRecord_WhatWasAskedToStopIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"retry", "give back"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t)
			j := o.running()
			o.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
			o.mustWrite(records(j)[name])
			o.want(j.Claim.Job, "format('%s %s', state, ended_at is not null)", "cancelled t")
		})
	}
	o := openOffice(t)
	j := o.running()
	o.exec("select bellhop.cancel($1)", int64(j.Claim.Job))
	o.mustWrite(succeeded(j)) // an OK that came before
	o.want(j.Claim.Job, "state", "succeeded")
}

func TestRecord_GiveBackUndoesTheAttempt(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	id := o.insert("type", "'cat'")
	before := o.row(id)
	j := o.claim(assigned(1))[0] // assigned: it never started
	o.mustWrite(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim, Why: "no_room"})
	o.want(id, "waiting_for", "no_room")
	o.exec("update bellhop.jobqueue set fence = 0, waiting_for = null") // all that is left of it
	if after := o.row(id); after != before {
		t.Errorf("before and after:\n%s\n%s", before, after)
	}
	j = o.claim(demand(1))[0]
	o.mustWrite(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim})
	o.want(id, "format('%s %s %s %s', state, attempt, fence, started_at is not null)", "ready 0 1 t") // it has started once
	if n := o.one("select count(*) from bellhop.attempt where job = $1", int64(id)); n != "0" {
		t.Errorf("%s attempts", n)
	}
}

func TestRecord_StartOfAnAssignedJob(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	id := o.insert("type", "'cat'")
	j := o.claim(assigned(1))[0]
	o.want(id, "format('%s %s %s', state, waiting_for, started_at is null)", "assigned child_starting t")
	start := scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}
	o.mustWrite(start)
	o.want(id, "format('%s %s %s', state, waiting_for, started_at is null)", "running  f")
	row := o.row(id)
	o.mustWrite(start) // what is known already
	if again := o.row(id); again != row {
		t.Errorf("a second start:\n%s\n%s", row, again)
	}
	// Taken back before its agent has seen it, and fed again: two starts in one batch are one.
	id = o.insert("type", "'cat'")
	j = o.claim(assigned(1))[0]
	start = scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}
	o.mustWrite(start, start)
	o.want(id, "state", "running")
	o.mustWrite(start, start, succeeded(j))
	o.want(id, "state", "succeeded")
	// Start and end within one batch.
	id = o.insert("type", "'cat'")
	j = o.claim(assigned(1))[0]
	o.mustWrite(succeeded(j), scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim})
	o.want(id, "format('%s %s', state, started_at <= ended_at)", "succeeded t")
	// However late it is written: it began when the line was given.
	id = o.insert("type, created_at", "'cat', clock_timestamp() - interval '1 hour'")
	j = o.claim(assigned(1))[0]
	now, end := time.Now(), succeeded(j)
	end.Result.Ended = now.Add(-time.Minute)
	o.mustWrite(scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim, Given: now.Add(-2 * time.Minute), Launched: now.Add(-5 * time.Minute)}, end)
	o.want(id, "format('%s %s %s %s', state, round(extract(epoch from clock_timestamp() - ended_at) / 60), round(extract(epoch from ended_at - started_at)), "+
		"round(extract(epoch from started_at - spawned_at)))", "succeeded 1 60 180")
	// And an attempt whose child was up has none of an earlier one's.
	id = o.insert("type, spawned_at", "'cat', clock_timestamp()")
	o.mustWrite(succeeded(o.claim(demand(1))[0]))
	o.want(id, "spawned_at is null", "true")
}

// After a commit whose answer was lost the same batch is written again.
func TestRecord_AgainAfterALostAnswer(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for name := range records(scheduler.Job{}) {
		j := o.running()
		rec := records(j)[name]
		o.mustWrite(rec)
		row := o.row(j.Claim.Job)
		if stale := o.write(true, rec); len(stale) > 0 {
			t.Errorf("%s: again, and it is stale: %v", name, stale)
		}
		if stale := o.write(true, scheduler.Record{Kind: scheduler.RecordStart, Claim: j.Claim}, rec); len(stale) > 0 {
			t.Errorf("%s with its start: again, and it is stale: %v", name, stale)
		}
		if again := o.row(j.Claim.Job); again != row {
			t.Errorf("%s: again changed the row:\n%s\n%s", name, row, again)
		}
		if n := o.one("select count(*) from bellhop.attempt_past where job = $1", int64(j.Claim.Job)); n > "1" {
			t.Errorf("%s: %s attempts kept", name, n)
		}
		o.exec("delete from bellhop.jobqueue")
	}
	// Failed, recorded, and claimed for its next attempt before the answer was known to be lost.
	once := o.running()
	retry := settle(once, scheduler.Result{ExitCode: 1}, scheduler.Verdict{State: scheduler.Ready, Counts: true})
	o.mustWrite(retry)
	twice := o.claim(demand(1))[0]
	if stale := o.write(true, retry); len(stale) > 0 || twice.Claim.Job != once.Claim.Job {
		t.Errorf("recorded, and tried again since: stale %v", stale)
	}
	o.want(once.Claim.Job, "format('%s %s', state, attempt)", "running 2")
	o.exec("delete from bellhop.jobqueue")
	// Given back, and claimed by somebody else since: that is stale.
	j := o.running()
	back := scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim}
	o.mustWrite(back)
	o.claim(demand(1))
	if stale := o.write(true, back); len(stale) != 1 {
		t.Errorf("stale: %v", stale)
	}
}

// A crash has undone the claim; the outcome finds no row of ours, and before
// anybody looks whether it is recorded already, the job is taken again.
func TestRecord_AgainWhileTheClaimIsTakenAgain(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	j := o.running()
	o.exec("update bellhop.jobqueue set state = 'ready', fence = 0, attempt = 0, instance = null")
	o.exec(fmt.Sprintf(`create function taken_again() returns trigger language plpgsql as $$
		begin
			if pg_trigger_depth() = 1 then
				update bellhop.jobqueue set state = 'running', fence = 1, attempt = 1, instance = %d where state = 'ready';
			end if;
			return null;
		end $$`, o.me))
	o.exec("create trigger taken_again after update on bellhop.jobqueue for each statement execute function taken_again()")
	if stale := o.write(true, succeeded(j)); len(stale) != 1 {
		t.Errorf("it is taken for recorded: %v", stale)
	}
	o.exec("drop trigger taken_again on bellhop.jobqueue")
	o.mustWrite(succeeded(j))
	o.want(j.Claim.Job, "state", "succeeded")
}

func TestRecord_AllThatAChildSaid(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.insert("type, msq", "'cat', 'select 1'")
	j := o.claim(demand(1))[0]
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
		if stale, _, err := o.recorder.Write(t.Context(), o.me, b, now); err != nil || len(stale) > 0 {
			t.Fatal(stale, err)
		}
	}
	o.want(j.Claim.Job, "format('%s %s %s', items_total, items_done, items_failed)", " 5 1")
	if got := o.one("select format('%s %s %s %s %s', item, line, tries, exit_code, error) from bellhop.item where job = $1", int64(j.Claim.Job)); got != `3 id="3" 3 2 bad` {
		t.Errorf("item: %s", got)
	}
	if got := o.one("select format('%s %s %s %s %s', level, attempt, child, line, round(extract(epoch from clock_timestamp() - at) / 60)) from bellhop.log where job = $1 limit 1", int64(j.Claim.Job)); got != "err 1 cat.1 first\uFFFD \uFFFD 60" {
		t.Errorf("log: %s", got)
	}
	if got := o.one("select count(*) from bellhop.log where job is null and child is null"); got != "2" {
		t.Errorf("outside any job: %s", got)
	}
	r := succeeded(j)
	r.Items = &scheduler.Items{Total: 6, Done: 6}
	o.mustWrite(r)
	o.want(j.Claim.Job, "format('%s %s %s %s', state, items_total, items_done, items_failed)", "succeeded 6 6 0")
	o.want(j.Claim.Job, "(select count(*) from bellhop.attempt where job = id)", "1")
}

// What the database refuses it will refuse again; a lost connection it will not.
func TestRecord_RefusedOrOutOfReach(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	good, bad := o.running(), o.running()
	_, _, err := o.recorder.Write(t.Context(), o.me, scheduler.Batch{Records: []scheduler.Record{succeeded(good),
		settle(bad, scheduler.Result{}, scheduler.Verdict{State: "bogus"})}}, time.Now())
	if !errors.Is(err, scheduler.ErrRefused) || !strings.Contains(err.Error(), "jobqueue_state_known") {
		t.Errorf("error is %v", err)
	}
	o.want(good.Claim.Job, "state", "running") // all or nothing
	o.drop("recorder")
	_, _, err = o.recorder.Write(t.Context(), o.me, scheduler.Batch{Records: []scheduler.Record{succeeded(good)}}, time.Now())
	var lost *Unreachable
	if errors.Is(err, scheduler.ErrRefused) || !errors.As(err, &lost) {
		t.Errorf("error is %v", err)
	}
	o.mustWrite(succeeded(good))
	o.want(good.Claim.Job, "state", "succeeded")
}
