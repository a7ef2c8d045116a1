package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
)

// rests ends a run of an instance's job that goes on later.
func (e *env) rests(j scheduler.Job, r scheduler.Resting) {
	e.Helper()
	e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim, Attempt: j.Attempt, Rest: &r})
}

// keptOf is what a claim tells of earlier attempts; empty: nothing.
func keptOf(j scheduler.Job) string {
	if j.Kept == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %t", j.Kept.Steps, j.Kept.Event, j.Kept.TimedOut)
}

// Law: each way to claim a job brings what earlier attempts have done, and no other job pays for that.
func TestAgentsSteps_ComeWithEachClaim(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	steps := desk(e, NewSteps)
	for name, c := range map[string]struct {
		columns, values string
		demand          scheduler.Demand
	}{
		"alone":      {"type", "'cat'", demand(1)},
		"to come up": {"type", "'cat'", assigned(1)},
		"share":      {"type, share", "'cat', 'a'", demand(1)},
	} {
		e.insert(c.columns, c.values)
		first := e.claim(c.demand)[0]
		if got := keptOf(first); got != "" {
			t.Errorf("%s: a new job has %s", name, got)
		}
		step := scheduler.SavedStep{Name: "charge", Output: json.RawMessage(`{"receipt": 7}`)}
		for range 2 { // the same again changes nothing
			if err := steps.Save(t.Context(), first.Claim, step); err != nil {
				t.Fatal(err)
			}
		}
		e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: first.Claim, Attempt: 1})
		second := e.claim(c.demand)[0]
		if got := keptOf(second); got != `{"charge": {"receipt": 7}}  false` {
			t.Errorf("%s: the next run has %s", name, got)
		}
		var refused *scheduler.StepRefused
		if err := steps.Save(t.Context(), first.Claim, step); !errors.As(err, &refused) {
			t.Errorf("%s: a run that was replaced keeps a step: %v", name, err)
		}
		e.exec("delete from bellhop.jobqueue")
	}
}

// Law: a run that rests counts as no attempt, and its job is ready when its time, or its event, has come; or at once if
// the event was there before.
func TestAgentsSteps_RunsRest(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`select bellhop.emit('early', '{"n": 1}')`)
	for _, c := range []struct {
		rest  scheduler.Resting
		state string
		wake  string
		kept  string
	}{
		{scheduler.Resting{Event: "early", Pause: time.Hour}, "ready", "", `{"event.early": {"payload": {"n": 1}}} {"n": 1} false`},
		{scheduler.Resting{Event: "late"}, "scheduled", "select bellhop.emit('late', '2')", `{"event.late": {"payload": 2}} 2 false`},
		{scheduler.Resting{Event: "never", Pause: time.Hour}, "scheduled", "", `{"event.never": {"timed_out": 1}} null true`},
		{scheduler.Resting{Pause: time.Hour}, "scheduled", "", ""},
	} {
		id := e.insert("type", "'cat'")
		e.rests(e.claim(demand(1))[0], c.rest)
		e.want(id, "state", c.state)
		e.want(id, "attempt", "0")
		e.want(id, "coalesce(instance, 0)", "0")
		switch {
		case c.wake != "":
			e.exec(c.wake)
		case c.state == "scheduled":
			e.exec("update bellhop.jobqueue set run_at = clock_timestamp() where id = $1", int64(id))
			e.due()
		}
		got := keptOf(e.claim(demand(1))[0])
		if c.kept == "" && !strings.HasPrefix(got, `{"sleep.1": {"until": `) || c.kept != "" && got != c.kept {
			t.Errorf("%s: the next run has %s", c.rest, got)
		}
		e.want(id, "attempt", "1")
		e.exec("delete from bellhop.jobqueue")
	}
}

// A job that keeps more than its line can carry fails when it rests, and says why. One that is asked to stop is over.
func TestAgentsSteps_RunsThatCannotRest(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	full := e.insert("type, max_attempts", "'cat', 5")
	j := e.claim(demand(1))[0]
	e.exec("insert into bellhop.saved_step (job, name, output, bytes) select $1, 's' || n, '1', 1 from generate_series(1, 2000) n", int64(full))
	e.rests(j, scheduler.Resting{Pause: time.Hour})
	e.want(full, "state", "failed")
	if got := e.column(full, "error"); !strings.Contains(got, "keeps 2000 steps, sleeps and events") {
		t.Errorf("its error is %s", got)
	}
	asked := e.insert("type", "'cat'")
	j = e.claim(demand(1))[0]
	e.exec("update bellhop.jobqueue set cancel_requested = true where id = $1", int64(asked))
	e.rests(j, scheduler.Resting{Event: "x"})
	e.want(asked, "state", "cancelled")
}

// Law: what the database refuses is told once; while a crash has undone the claim, a step waits.
func TestAgentsSteps_WhatIsRefusedAndWhatWaits(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	steps := desk(e, NewSteps)
	e.insert("type", "'cat'")
	j := e.claim(demand(1))[0]
	for _, output := range []string{`"\u0000"`, `{`} {
		err := steps.Save(t.Context(), j.Claim, scheduler.SavedStep{Name: "x", Output: json.RawMessage(output)})
		var refused *scheduler.StepRefused
		if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "step_refused: ") {
			t.Errorf("%s: %v", output, err)
		}
	}
	e.exec("update bellhop.jobqueue set fence = fence - 1, state = 'ready', instance = null")
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- steps.Save(ctx, j.Claim, scheduler.SavedStep{Name: "x"}) }()
	e.exec("update bellhop.jobqueue set fence = $1, state = 'running', instance = $2", int64(j.Fence), int64(e.me))
	if err := <-kept; err != nil {
		t.Errorf("a step of a claim that is taken again: %v", err)
	}
	e.exec("update bellhop.jobqueue set fence = fence - 1, state = 'ready', instance = null")
	go func() { kept <- steps.Save(ctx, j.Claim, scheduler.SavedStep{Name: "y"}) }()
	stop()
	if err := <-kept; !errors.Is(err, context.Canceled) {
		t.Errorf("a step whose agent has gone: %v", err)
	}
}

// Whether a refused step waits: a crash has undone its claim, or had, and the dispatcher took the job again between the
// refusal and the look. Any other run was replaced.
func TestAgentsSteps_AClaimThatIsTakenAgainBetweenRefusalAndLook(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	j := e.claim(demand(1))[0]
	for _, x := range []struct {
		state string
		more  int // than the fence of the step
		waits bool
	}{
		{"ready", -1, true}, {"running", 0, true}, {"assigned", 0, true},
		{"ready", 0, false}, {"succeeded", 0, false}, {"running", 1, false},
	} {
		e.exec("update bellhop.jobqueue set fence = $2::bigint + $3, state = $4 where id = $1", int64(id), int64(j.Fence), x.more, x.state)
		waits := false
		err := e.conn.QueryRow(t.Context(), claimUndoneSQL, int64(id), int64(j.Fence)).Scan(&waits)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
		if waits != x.waits {
			t.Errorf("%s under a fence %+d: it waits %t, want %t", x.state, x.more, waits, x.waits)
		}
	}
}
