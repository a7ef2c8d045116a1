package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

// Law: steps that are told at the same time share transactions, and none fails or waits because of another: not one of
// a run that was replaced, not one whose job another transaction has locked.
func TestSteps_ManyShareTransactions(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	steps := desk(e, NewSteps)
	const many = 80
	for range many {
		e.insert("type", "'cat'")
	}
	jobs := e.claim(demand(many))
	const held = stepLanes + 2
	locked, stale := jobs[:held], jobs[held].Claim
	stale.Fence--
	holder := e.second()
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	isLocked := map[scheduler.JobID]bool{}
	for _, j := range locked {
		isLocked[j.Claim.Job] = true
		_, err = tx.Exec(t.Context(), "select from bellhop.jobqueue where id = $1 for update", int64(j.Claim.Job))
		if err != nil {
			t.Fatal(err)
		}
	}
	type end struct {
		of  scheduler.JobID
		err error
	}
	ends := make(chan end, many)
	for n, j := range jobs {
		of := j.Claim
		if n == held {
			of = stale
		}
		go func() {
			ends <- end{of.Job, steps.Save(t.Context(), of, scheduler.SavedStep{Name: "a", Output: []byte(fmt.Sprint(n))})}
		}()
	}
	for range many - held {
		select {
		case got := <-ends:
			var refused *scheduler.StepRefused
			over := errors.As(got.err, &refused) && strings.Contains(refused.Why, "does not run under fence")
			if isLocked[got.of] || over != (got.of == stale.Job) || !over && got.err != nil {
				t.Errorf("the step of job %d ended with %v", got.of, got.err)
			}
		case <-time.After(time.Minute):
			t.Fatal("steps wait for those of locked jobs")
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range held {
		if got := <-ends; !isLocked[got.of] || got.err != nil {
			t.Errorf("the step of a locked job ended with %v", got)
		}
	}
	if got := e.one("select count(*) from bellhop.saved_step"); got != fmt.Sprint(many-1) {
		t.Errorf("%s steps are kept", got)
	}
	// Each lane takes at most one before the others have come.
	if got := e.one("select count(distinct xmin::text) <= $1::int / 2 from bellhop.saved_step", many); got != "true" {
		t.Errorf("they were kept by %s transactions", e.one("select count(distinct xmin::text) from bellhop.saved_step"))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err = steps.Save(gone, jobs[2].Claim, scheduler.SavedStep{Name: "b"})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("for a caller that is gone: %v", err)
	}
}

// A step that is kept alone waits for a locked job only so long: other steps need the session. A wait of a second, as
// of other statements, would hold them up.
func TestSteps_ALockedJobIsWaitedForAMomentOnly(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.insert("type", "'cat'")
	of := e.claim(demand(1))[0].Claim
	tx, err := e.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }() // it was only asked
	if _, err := tx.Exec(t.Context(), saveStepSQL, int64(of.Job), int64(of.Fence), "a", "1"); err != nil {
		t.Fatal(err)
	}
	var wait string
	if err := tx.QueryRow(t.Context(), "show lock_timeout").Scan(&wait); err != nil || wait != "100ms" {
		t.Errorf("it waits for %s (%v)", wait, err)
	}
}

// Law: a call that keeps several steps has the bounds of calls for each: what does not fit is passed over, and the rest
// is kept. A name that is told twice is kept once.
func TestSteps_ACallForSeveralHasTheBoundsOfEach(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	for _, c := range []struct{ name, names, outputs, want string }{
		{"of one job", `'{a,b}'`, `'{1,2}'`, "1 2"},
		{"a name twice", `'{a,b,a}'`, `'{1,2,3}'`, "1 2"},
		{"a name that cannot be", `'{a,sleep.1,NULL,b}'`, `'{1,2,3,4}'`, "1 4"},
		{"no output", `'{a}'`, `'{NULL}'`, "1"},
		{"an output that is too long", `'{a,b}'`, `array[to_jsonb(repeat('x', 1048576)), '1']`, "2"},
		{"too many", `(select array_agg('s' || n) from generate_series(1, 1002) n)`,
			`(select array_agg('1'::jsonb) from generate_series(1, 1002))`, "1000 of them"},
		{"too much", `(select array_agg('s' || n) from generate_series(1, 18) n)`,
			`(select array_agg(to_jsonb(repeat('x', 1000000))) from generate_series(1, 18))`, "16 of them"},
	} {
		id := e.insert("type", "'cat'")
		got := e.one(`with kept as (select k from bellhop.keep_steps(
				(select array_agg($1::bigint) from unnest(`+c.names+`::text[])), `+c.names+`::text[], `+c.outputs+`::jsonb[]) k)
			select case when count(*) > 10 then count(*) || ' of them' else string_agg(k::text, ' ' order by k) end from kept`, id)
		if got != c.want {
			t.Errorf("%s: kept %s, want %s", c.name, got, c.want)
		}
		e.want(id, "stepped::text", "true")
	}
	if got := e.one("select output::text from bellhop.saved_step order by job offset 2 limit 1"); got != "1" {
		t.Errorf("a name that is told twice is kept as %s", got)
	}
}

// Law: a job keeps exactly as many steps as it may, though the desk has them counted now and then only, and its agent
// keeps some by SQL meanwhile.
func TestSteps_TheirBoundIsExact(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	steps := desk(e, NewSteps)
	id := e.insert("type", "'cat'")
	of := e.claim(demand(1))[0].Claim
	const most, own = 1000, 40
	for n := range most - own {
		if n%20 == 10 && n/20 < own {
			e.exec("select bellhop.save_step($1, $2, $3)", int64(of.Job), int64(of.Fence), fmt.Sprintf("own %d", n))
		}
		if err := steps.Save(t.Context(), of, scheduler.SavedStep{Name: fmt.Sprintf("step %d", n)}); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
	}
	err := steps.Save(t.Context(), of, scheduler.SavedStep{Name: "too many"})
	var refused *scheduler.StepRefused
	if !errors.As(err, &refused) || !strings.Contains(refused.Why, "would keep 1001 steps and 4004 bytes with step too many; it may keep 1000") {
		t.Errorf("one more: %v", err)
	}
	if got := e.one("select count(*) from bellhop.saved_step where job = $1", int64(id)); got != fmt.Sprint(most) {
		t.Errorf("%s steps are kept", got)
	}
}
