package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
)

// A batch fails one by one: each job ends as its own error says.
func TestHandleBatch_EachJobHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	a := setup(t)
	jobs := []client.Job{}
	for _, note := range []string{"fine", "fails", "never", "again", "snoozes", "nothing"} {
		jobs = append(jobs, client.Job{Type: "invoice", JSON: invoice{Note: note}})
	}
	jobs = append(jobs, client.Job{Type: "invoice", Args: "no JSON"})
	ids, err := a.SubmitManyIDs(t.Context(), slices.Values(jobs))
	if err != nil {
		t.Fatal(err)
	}
	var first atomic.Int32
	var tries sync.Map
	a.run(worker.HandleBatch("invoice", len(jobs), time.Second,
		func(_ context.Context, jobs []*agent.Job[invoice]) (errs []error) {
			first.CompareAndSwap(0, int32(len(jobs)))
			for _, job := range jobs {
				_, seen := tries.LoadOrStore(job.Args.Note, true)
				job.Result(job.Args.Note)
				switch note := job.Args.Note; {
				case note == "fails":
					errs = append(errs, errors.New("disk full"))
				case note == "never":
					errs = append(errs, agent.NoRetry(errors.New("bad input")))
				case note == "again" && job.Attempt == 1:
					errs = append(errs, agent.RetryIn(time.Millisecond, errors.New("not yet")))
				case note == "snoozes" && !seen:
					errs = append(errs, agent.Snooze(time.Millisecond))
				case note == "nothing":
					errs = append(errs, agent.NoData)
				default:
					errs = append(errs, nil)
				}
			}
			return errs
		}, worker.Retry(2, time.Millisecond, time.Millisecond), worker.Max(1)), worker.Slots(1))
	for i, want := range []string{"succeeded 1", "failed 2 disk full", "failed 1 bad input", "succeeded 2", "succeeded 1",
		"succeeded 1", "failed 2 not what the agent takes"} {
		o := a.outcome(ids[i])
		words := strings.SplitN(want, " ", 3)
		if fmt.Sprint(o.State, " ", o.Attempt) != words[0]+" "+words[1] ||
			len(words) > 2 && !strings.Contains(fmt.Sprint(o.Err()), words[2]) {
			t.Errorf("%d: %s after %d, %v; want %s", i, o.State, o.Attempt, o.Err(), want)
		}
	}
	if got := first.Load(); got < 2 {
		t.Errorf("the first batch had %d jobs", got)
	}
}

// What a batch is told as a whole: no error, a wrong number of errors, a panic.
func TestHandleBatch_FailsAsAWhole(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.run(worker.HandleBatch("mail", 10, 0, func(_ context.Context, jobs []*agent.Job[string]) []error {
		switch jobs[0].Args {
		case "panics":
			panic("no paper")
		case "short":
			return make([]error, len(jobs)+1)
		case "none":
			return []error{}
		}
		return nil
	}))
	for args, want := range map[string]string{"fine": "", "panics": "no paper", "short": "2 errors for a batch of 1 jobs",
		"none": "0 errors for a batch of 1"} {
		o := a.outcome(a.submit(client.Job{Type: "mail", Args: args}))
		if (o.Err() == nil) != (want == "") || !strings.Contains(fmt.Sprint(o.Err()), want) {
			t.Errorf("%s: %v", args, o.Err())
		}
	}
}

// The cancellation of one ends the context of all. What was done is; what was not runs again, and no attempt counts.
func TestHandleBatch_AnOrderForOneOfThem(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]client.State{"cancel": client.Cancelled, "timeout": client.Failed} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			a := setup(t)
			begun := make(chan bool, 8)
			var second atomic.Bool
			jobs := []client.Job{{Type: "mail", Args: "done"}, {Type: "mail", Args: "target"}, {Type: "mail", Args: "other"}}
			if order == "timeout" {
				jobs[1].Timeout = 100 * time.Millisecond
			}
			ids, err := a.SubmitManyIDs(t.Context(), slices.Values(jobs))
			if err != nil {
				t.Fatal(err)
			}
			a.run(worker.HandleBatch("mail", 3, time.Minute, func(ctx context.Context, jobs []*agent.Job[string]) []error {
				if second.Swap(true) {
					return nil
				}
				begun <- true
				<-ctx.Done()
				errs := make([]error, len(jobs))
				for i, job := range jobs {
					if job.Args != "done" {
						errs[i] = context.Cause(ctx)
					}
				}
				return errs
			}), worker.HandleBatch("never", 2, time.Second, func(context.Context, []*agent.Job[string]) []error { return nil }),
				worker.Slots(1))
			<-begun
			if order == "cancel" {
				if _, err := a.Cancel(t.Context(), ids[1]); err != nil {
					t.Fatal(err)
				}
			}
			if o := a.outcome(ids[0]); o.State != client.Succeeded {
				t.Errorf("what was done: %+v", o)
			}
			if o := a.outcome(ids[1]); o.State != want {
				t.Errorf("the one that the order is about: %+v, %v", o, o.Err())
			}
			fill := slices.Values([]client.Job{{Type: "mail"}, {Type: "mail"}}) // the next batch
			more, err := a.SubmitManyIDs(t.Context(), fill)
			if err != nil {
				t.Fatal(err)
			}
			if o := a.outcome(ids[2]); o.State != client.Succeeded || o.Attempt != 1 {
				t.Errorf("the other: %+v", o)
			}
			a.outcome(more[1])
		})
	}
}

// A job that comes alone waits no longer than it may, and a job that waits for its batch can be cancelled.
func TestHandleBatch_WaitsToBeFull(t *testing.T) {
	t.Parallel()
	a := setup(t)
	sizes := make(chan int, 8)
	count := func(_ context.Context, jobs []*agent.Job[string]) []error {
		sizes <- len(jobs)
		return nil
	}
	a.run(worker.HandleBatch("soon", 100, 10*time.Millisecond, count), worker.HandleBatch("late", 2, time.Minute, count),
		worker.Slots(2))
	a.outcome(a.submit(client.Job{Type: "soon"}))
	lone := a.submit(client.Job{Type: "late"})
	for job := (client.Outcome{}); job.State != client.Running; {
		list, err := a.Outcomes(t.Context(), lone)
		if err != nil {
			t.Fatal(err)
		}
		job = list[0]
	}
	if _, err := a.Cancel(t.Context(), lone); err != nil {
		t.Fatal(err)
	}
	if o := a.outcome(lone); o.State != client.Cancelled {
		t.Errorf("%+v", o)
	}
	ids := []client.JobID{a.submit(client.Job{Type: "late"}), a.submit(client.Job{Type: "late"})}
	a.outcome(ids[0])
	a.outcome(ids[1])
	if got := []int{<-sizes, <-sizes}; !slices.Equal(got, []int{1, 2}) {
		t.Errorf("batches of %v", got)
	}
}

func TestHandleBatch_BadLimits(t *testing.T) {
	t.Parallel()
	do := func(context.Context, []*agent.Job[string]) []error { return nil }
	for _, part := range []worker.Part{worker.HandleBatch("x", 0, 0, do), worker.HandleBatch("x", 1001, 0, do),
		worker.HandleBatch("x", 5, -1, do), worker.HandleBatch("x", 5, time.Hour, do), worker.HandleBatch("", 5, 0, do)} {
		if err := worker.Run(t.Context(), nil, part); err == nil || !strings.Contains(err.Error(), "HandleBatch") {
			t.Error(err)
		}
	}
}
