package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
)

// Law: a handler inside an app goes on where its last run ended: each part is done once, whether it failed, slept or
// awaited an event in between, and only a failure counts as an attempt.
func TestSteps_AHandlerGoesOn(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var mu sync.Mutex
	var did []string
	awaits := make(chan struct{}, 1)
	a.run(worker.Handle("order", func(ctx context.Context, job *agent.Job[string]) error {
		part := func(name string) error {
			_, err := agent.Step(ctx, job, name, func(context.Context) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				did = append(did, name)
				return job.Fence, nil
			})
			return err
		}
		if err := part("reserve"); err != nil {
			return err
		}
		if job.Attempt == 1 {
			return agent.RetryIn(time.Millisecond, errors.New("the power failed"))
		}
		if err := job.Sleep(time.Millisecond); err != nil {
			return err
		}
		if err := part("charge"); err != nil {
			return err
		}
		if job.Steps["event.parcel.42"] == nil {
			awaits <- struct{}{}
		}
		parcel, err := job.Await("parcel.42", time.Hour)
		if err != nil {
			return err
		}
		job.Result(parcel)
		return part("mail")
	}))
	id := a.submit(client.Job{Type: "order", MaxAttempts: 2})
	<-awaits
	if _, err := a.pool.Exec(t.Context(), `select bellhop.emit('parcel.42', '"Prague"')`); err != nil {
		t.Fatal(err)
	}
	o := a.outcome(id)
	if o.Err() != nil || string(o.Result) != `"Prague"` {
		t.Errorf("%+v: %v", o, o.Err())
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"reserve", "charge", "mail"}; !slices.Equal(did, want) {
		t.Errorf("it did %q, want %q", did, want)
	}
	var attempts int
	const look = "select attempt from bellhop.jobqueue where id = $1"
	if err := a.pool.QueryRow(t.Context(), look, id).Scan(&attempts); err != nil || attempts != 2 {
		t.Errorf("it took %d attempts: %v", attempts, err)
	}
}

// A step with the app's own rows is one transaction; one that cannot be kept fails the attempt.
func TestSteps_InTheAppsTransactionAndRefused(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.run(worker.Handle("order", func(ctx context.Context, job *agent.Job[string]) error {
		tx, err := a.pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if err := job.SaveStep(ctx, agent.Pgx(tx), "charge", 7); err != nil {
			return err
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		_, err = agent.Step(ctx, job, "charge", func(context.Context) (int, error) { return 8, nil })
		return err
	}))
	o := a.outcome(a.submit(client.Job{Type: "order"}))
	if err := o.Err(); err == nil || !strings.Contains(err.Error(), "step_refused: ") ||
		!strings.Contains(err.Error(), "another output") {
		t.Errorf("%+v: %v", o, err)
	}
}
