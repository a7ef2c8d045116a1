package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// A result is written with the outcome, whichever statement records that; a guard that fails writes none.
func TestRecord_ResultsComeWithTheOutcome(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	result := &scheduler.Answer{Result: []byte(`{"a":[1]}`)}
	for _, c := range []struct {
		name   string
		record func(scheduler.Job) scheduler.Record
		want   string
	}{
		{"a first attempt", succeeded, `succeeded {"a": [1]}`},
		{"a failure", func(j scheduler.Job) scheduler.Record {
			return settle(j, scheduler.Result{ExitCode: 1, Error: "x"}, scheduler.Verdict{State: scheduler.Failed, Counts: true})
		}, `failed {"a": [1]}`},
		{"a failure that is tried again", func(j scheduler.Job) scheduler.Record {
			return settle(j, scheduler.Result{ExitCode: 1}, scheduler.Verdict{State: scheduler.Scheduled, Counts: true})
		}, "scheduled none"},
		{"another's", func(j scheduler.Job) scheduler.Record {
			r := succeeded(j)
			r.Claim.Fence++
			return r
		}, "running none"},
	} {
		j, plain := e.running(), e.running()
		r := c.record(j)
		r.Result.Answer = result
		e.write(false, r, succeeded(plain))
		e.want(j.Claim.Job, "state || ' ' || coalesce(result::text, 'none')", c.want)
		e.want(plain.Claim.Job, "state || ' ' || coalesce(result::text, 'none')", "succeeded none")
	}
	// retry begins anew
	id := e.one("select id from bellhop.jobqueue where result is not null limit 1")
	e.exec("select bellhop.retry(" + id + ")")
	if got := e.one("select coalesce(result::text, 'none') from bellhop.jobqueue where id = " + id); got != "none" {
		t.Errorf("after a retry it has %s", got)
	}
}

// How far a job is is written under its fence, and forgotten with the attempt.
func TestRecord_HowFar(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	far := func(list ...scheduler.HowFar) {
		t.Helper()
		if _, _, err := e.recorder.Write(t.Context(), e.me, scheduler.Batch{HowFar: list}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	half := float32(0.5)
	a, b := e.running(), e.running()
	stale := b.Claim
	stale.Fence++
	far(scheduler.HowFar{Claim: a.Claim, Done: &half, Text: "page\x00 1"}, scheduler.HowFar{Claim: stale, Done: &half})
	e.want(a.Claim.Job, "progress || progress_text", "0.5page\uFFFD 1")
	e.want(b.Claim.Job, "coalesce(progress::text, 'none')", "none")
	far(scheduler.HowFar{Claim: a.Claim, Text: "page 2"})
	e.want(a.Claim.Job, "progress || progress_text", "0.5page 2")
	e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: a.Claim})
	e.want(a.Claim.Job, "coalesce(progress::text, progress_text, 'none')", "none")
}

// Who listens hears of the jobs that are named, with the commit.
func TestRecord_RingsForThoseThatAreAwaited(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	heard, over := make(chan []scheduler.JobID, 10), make(chan struct{})
	t.Cleanup(func() { <-over; _ = conn.Close(context.Background()) })
	go func() {
		defer close(over)
		_ = view.HearEnds(t.Context(), conn, func(ids []scheduler.JobID) { heard <- ids })
	}()
	if first := <-heard; first != nil {
		t.Errorf("it begins with %v", first)
	}
	silent, told := e.running(), e.running()
	e.mustWrite(succeeded(silent))
	b := scheduler.Batch{Records: []scheduler.Record{succeeded(told)}, Ring: []scheduler.JobID{told.Claim.Job}}
	if _, _, err := e.recorder.Write(t.Context(), e.me, b, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; len(got) != 1 || got[0] != told.Claim.Job {
		t.Errorf("%v is heard, want %d", got, told.Claim.Job)
	}
}

// However many jobs are awaited, no list of them is longer than a notification may be.
func TestAwait_ListsFitIntoNotifications(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	ids := make([]scheduler.JobID, 1000)
	for i := range ids {
		ids[i] = scheduler.JobID(1<<62 + i)
	}
	if err := view.NewLook(e.conn).Await(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	var back []scheduler.JobID
	for _, list := range scheduler.JobIDLists(ids) {
		if len(list) >= 8000 {
			t.Errorf("a list has %d bytes", len(list))
		}
		back = append(back, scheduler.JobIDs(list)...)
	}
	if fmt.Sprint(back) != fmt.Sprint(ids) {
		t.Error("lists lose ids")
	}
	if odd := scheduler.JobIDs("1,x,,-3,99999999999999999999, 4,5" + strings.Repeat(",", 9)); fmt.Sprint(odd) != "[1 5]" {
		t.Errorf("of what anybody may send: %v", odd)
	}
}
