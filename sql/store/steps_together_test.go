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
	locked, stale := jobs[0].Claim, jobs[1].Claim
	stale.Fence--
	holder := e.second()
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec(t.Context(), "select from bellhop.jobqueue where id = $1 for update", int64(locked.Job))
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		of  scheduler.JobID
		err error
	}
	ends := make(chan end, many)
	for n, j := range jobs {
		of := j.Claim
		if n == 1 {
			of = stale
		}
		go func() {
			ends <- end{of.Job, steps.Save(t.Context(), of, scheduler.SavedStep{Name: "a", Output: []byte(fmt.Sprint(n))})}
		}()
	}
	for range many - 1 {
		select {
		case got := <-ends:
			var refused *scheduler.StepRefused
			over := errors.As(got.err, &refused) && strings.Contains(refused.Why, "does not run under fence")
			if got.of == locked.Job || over != (got.of == stale.Job) || !over && got.err != nil {
				t.Errorf("the step of job %d ended with %v", got.of, got.err)
			}
		case <-time.After(time.Minute):
			t.Fatal("steps wait for that of a locked job")
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-ends; got.of != locked.Job || got.err != nil {
		t.Errorf("the step of the locked job ended with %v", got)
	}
	if got := e.one("select count(*) from bellhop.saved_step"); got != fmt.Sprint(many-1) {
		t.Errorf("%s steps are kept", got)
	}
	// Four lanes take at most one each before the others have come.
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
