package worker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/client"
	"bellhop/client/agent"
	"bellhop/client/worker"
)

func TestRun_DoesJobsInsideTheApp(t *testing.T) {
	t.Parallel()
	a := setup(t)
	stop := a.run(worker.Handle("invoice", func(_ context.Context, job *agent.Job[invoice]) error {
		job.Logf("order %d\nfor %s", job.Args.Order, job.Vars["SHOP"])
		job.At(0.5, "half")
		job.Result(map[string]int64{"order": job.Args.Order})
		return nil
	}))
	id := a.submit(client.Job{Type: "invoice", JSON: invoice{Order: 42}, Vars: map[string]string{"SHOP": "here"}})
	o := a.outcome(id)
	var got struct{ Order int64 }
	if err := o.Into(&got); err != nil || o.Err() != nil || got.Order != 42 {
		t.Fatalf("%+v, %v, %v", o, o.Err(), err)
	}
	var said []string
	for l, err := range a.Logs(t.Context(), id, client.LogFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, l.Line)
	}
	if want := []string{"order 42", "for here"}; !slices.Equal(said, want) {
		t.Errorf("it said %q, want %q", said, want)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var done int
	const history = "select sum(succeeded) from bellhop.history where type = 'invoice'"
	if err := a.pool.QueryRow(t.Context(), history).Scan(&done); err != nil || done != 1 {
		t.Errorf("its history says that %d are done: %v", done, err)
	}
}

// What a handler returns becomes of the job what an agent's answer does.
func TestRun_WhatAHandlerReturns(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var tries atomic.Int32
	a.run(worker.Handle("invoice", func(_ context.Context, job *agent.Job[invoice]) error {
		switch job.Args.Note {
		case "fails":
			return errors.New("disk full")
		case "panics":
			panic("no paper")
		case "leaves":
			runtime.Goexit()
		case "never":
			return agent.NoRetry(errors.New("bad input"))
		case "again":
			if job.Attempt < 3 {
				return errors.New("not yet")
			}
		case "snoozes":
			if tries.Add(1) == 1 {
				return agent.Snooze(10 * time.Millisecond)
			}
			job.Result(job.Attempt)
		case "nothing":
			return agent.Skipped
		case "unheard of":
			return agent.EndedAs("done")
		case "too much":
			job.Result(strings.Repeat("x", 1<<20))
		}
		return nil
	}, worker.Retry(3, time.Millisecond, time.Millisecond)))
	for note, want := range map[string]struct {
		state client.State
		tries int
		error string
	}{
		"fails":      {client.Failed, 3, "disk full"},
		"panics":     {client.Failed, 3, "panic: no paper"},
		"leaves":     {client.Failed, 3, "Goexit"},
		"never":      {client.Failed, 1, "bad input"},
		"again":      {client.Succeeded, 3, ""},
		"snoozes":    {client.Succeeded, 1, ""},
		"nothing":    {client.Succeeded, 1, ""},
		"unheard of": {client.Failed, 1, "neither"},
		"too much":   {client.Failed, 1, "result_refused"},
	} {
		o := a.outcome(a.submit(client.Job{Type: "invoice", JSON: invoice{Note: note}}))
		if o.State != want.state || o.Attempt != want.tries || !strings.Contains(fmt.Sprint(o.Err()), want.error) {
			t.Errorf("%s: %s after %d, %q; want %+v", note, o.State, o.Attempt, fmt.Sprint(o.Err()), want)
		}
	}
	if o := a.outcome(a.submit(client.Job{Type: "invoice", Args: "no JSON"})); *o.ExitCode != 2 {
		t.Errorf("%+v", o)
	}
}

// An order ends the context, with the same cause as in an agent.
func TestRun_OrdersEndTheContext(t *testing.T) {
	t.Parallel()
	a := setup(t)
	begun := make(chan int64, 4)
	a.run(patient(begun))
	id := a.submit(client.Job{Type: "patient"})
	<-begun
	if _, err := a.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if o := a.outcome(id); o.State != client.Cancelled {
		t.Errorf("%+v", o)
	}
	id = a.submit(client.Job{Type: "patient", Timeout: 50 * time.Millisecond})
	if o := a.outcome(id); o.State != client.Failed || !strings.Contains(fmt.Sprint(o.Err()), "timeout") {
		t.Errorf("%+v", o)
	}
}

// What is not done when the app ends is given back, and no attempt of it counts.
func TestRun_AnAppThatEndsGivesBack(t *testing.T) {
	t.Parallel()
	a := setup(t)
	begun := make(chan int64, 4)
	stop := a.run(patient(begun), worker.Grace(time.Millisecond))
	id := a.submit(client.Job{Type: "patient"})
	<-begun
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	job, err := a.Job(t.Context(), id)
	if err != nil || job.State != client.Ready || job.Attempt != 0 {
		t.Fatalf("%+v, %v", job, err)
	}
	a.run(worker.Handle("patient", func(context.Context, *agent.Job[string]) error { return nil }))
	if o := a.outcome(id); o.State != client.Succeeded || o.Attempt != 1 {
		t.Errorf("%+v", o)
	}
}

// A handler that ignores its context cannot be killed: Run says so, and the job
// is nobody else's before the process ends, or the handler does.
func TestRun_AHandlerThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for patience to end: 20 s")
	}
	a := setup(t)
	begun, leave := make(chan struct{}), make(chan struct{})
	stop := a.run(worker.Grace(time.Millisecond),
		worker.Handle("deaf", func(context.Context, *agent.Job[string]) error {
			close(begun)
			<-leave
			return nil
		}))
	defer close(leave)
	a.submit(client.Job{Type: "deaf"})
	<-begun
	if err := stop(); !errors.Is(err, worker.ErrHandlers) {
		t.Errorf("Run returns %v", err)
	}
}

// Items of an MSQ job are lines like others.
func TestRun_Items(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var sum atomic.Int64
	a.run(worker.Handle("invoice", func(_ context.Context, job *agent.Job[struct {
		Order int64 `json:"order,string"`
	}]) error {
		sum.Add(job.Args.Order)
		return nil
	}))
	o := a.outcome(a.submit(client.Job{Type: "invoice", MSQ: `select n as order from generate_series(1, 1000) n`}))
	if o.Err() != nil || sum.Load() != 500500 {
		t.Errorf("%v, the sum is %d", o.Err(), sum.Load())
	}
}

// A handler asks for locks as an agent does.
func TestRun_Locks(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var inside, most atomic.Int32
	a.run(worker.Handle("till", func(ctx context.Context, job *agent.Job[string]) error {
		unlock, err := job.Lock(ctx, "db:till", agent.Exclusive)
		if err != nil {
			return err
		}
		most.Store(max(most.Load(), inside.Add(1)))
		inside.Add(-1)
		return unlock()
	}), worker.Handle("shelf", func(context.Context, *agent.Job[string]) error {
		if n := inside.Add(1); n > 1 {
			return fmt.Errorf("%d at once", n)
		}
		inside.Add(-1)
		return nil
	}, worker.Locks("db:shelf=exclusive", "db:till=exclusive")))
	var ids []client.JobID
	for range 10 {
		ids = append(ids, a.submit(client.Job{Type: "till"}), a.submit(client.Job{Type: "shelf"}))
	}
	for _, id := range ids {
		if o := a.outcome(id); o.Err() != nil {
			t.Error(o.Err())
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d held the lock at once", most.Load())
	}
}

// Several apps share the work; each job is done once.
func TestRun_SeveralApps(t *testing.T) {
	t.Parallel()
	a := setup(t)
	var done [3]atomic.Int32
	for i := range done {
		a.run(worker.Name(fmt.Sprintf("app%d", i)), worker.Handle("t", func(context.Context, *agent.Job[string]) error {
			done[i].Add(1)
			return nil
		}))
	}
	const jobs = 2000
	n, err := a.SubmitMany(t.Context(), func(yield func(client.Job) bool) {
		for range jobs {
			if !yield(client.Job{Type: "t"}) {
				return
			}
		}
	})
	if err != nil || n != jobs {
		t.Fatal(n, err)
	}
	last := a.submit(client.Job{Type: "t", Priority: 19})
	if o := a.outcome(last); o.Err() != nil {
		t.Fatal(o.Err())
	}
	for {
		open := []client.State{client.Ready, client.Running, client.Assigned}
		left, err := a.Count(t.Context(), client.Filter{States: open})
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond) // poll: nobody tells when a queue is empty
	}
	sum := 0
	for i := range done {
		sum += int(done[i].Load())
	}
	if sum != jobs+1 {
		t.Errorf("%d runs of %d jobs", sum, jobs+1)
	}
}

// What is wrong is said at once.
func TestRun_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	a := setup(t)
	work := func(context.Context, *agent.Job[string]) error { return nil }
	for _, c := range []struct {
		parts []worker.Part
		want  string
	}{
		{nil, "add worker.Handle"},
		{[]worker.Part{worker.Handle("two words", work)}, "use letters"},
		{[]worker.Part{worker.Handle("command", work)}, "choose another name"},
		{[]worker.Part{worker.Handle("t", work), worker.Handle("t", work)}, "already"},
		{[]worker.Part{worker.Handle("t", work, worker.Max(0))}, "Max(0)"},
		{[]worker.Part{worker.Handle("t", work, worker.Timeout(0))}, "Timeout(0s)"},
		{[]worker.Part{worker.Handle("t", work, worker.Retry(0, 1, 1))}, "Retry(0"},
		{[]worker.Part{worker.Handle("t", work, worker.Locks("db"))}, "db"},
		{[]worker.Part{worker.Handle("t", work), worker.Slots(0)}, "Slots(0)"},
	} {
		if err := worker.Run(t.Context(), a.pool, c.parts...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := a.pool.Exec(t.Context(), "drop schema bellhop cascade"); err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(t.Context(), a.pool, worker.Handle("t", work)); err == nil ||
		!strings.Contains(err.Error(), "bellhop migrate") {
		t.Errorf("without a schema: %v", err)
	}
}
