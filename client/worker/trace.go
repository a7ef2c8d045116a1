package worker

import (
	"context"
	"time"

	"bellhop/actors/port"
	"bellhop/observability/traces"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// startTraces reads the OTEL_ variables of the app's environment, as `bellhop serve` does of its own: a job's spans
// are below those of its submitter. nil: no traces are wanted.
func (w *worker) startTraces(name string, reads *store.Metrics) (*traces.Tracer, error) {
	return traces.Start(context.Background(),
		traces.Config{Version: "worker", Name: name, Log: w.log, Needs: reads.Needs})
}

// tracedQueue tells of claims before a child has them: handlers get the context of their run.
type tracedQueue struct {
	port.Queue
	tracer *traces.Tracer
}

func (q tracedQueue) Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	jobs, err := q.Queue.Claim(ctx, me, d)
	if len(jobs) > 0 {
		q.tracer.Claimed(jobs)
	}
	return jobs, err
}

// tracedRecords tells of outcomes that are committed.
type tracedRecords struct {
	port.Records
	tracer *traces.Tracer
}

func (r tracedRecords) Write(
	ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time,
) ([]scheduler.Claim, bool, error) {
	stale, released, err := r.Records.Write(ctx, me, b, now)
	if err == nil && len(b.Records) > 0 {
		r.tracer.Settled(b.Records, stale, time.Now())
	}
	return stale, released, err
}

// tracedTries tells of items, and of children that are up.
type tracedTries struct {
	port.Observer
	tracer *traces.Tracer
}

func (t tracedTries) Up(
	host scheduler.HostName, child scheduler.ChildName, typ scheduler.TypeName, launched, ready time.Time,
) {
	t.tracer.Up(host, child, launched, ready)
	t.Observer.Up(host, child, typ, launched, ready)
}

func (t tracedTries) Ran(items []scheduler.Result) {
	t.tracer.Ran(items)
	t.Observer.Ran(items)
}
