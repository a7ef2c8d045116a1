package instance

import (
	"context"
	"time"

	"bellhop/actors/port"
	"bellhop/scheduler"
)

// Claimed is a queue whose claims the history has.
type Claimed struct {
	port.Queue
	Past *Past
}

func (q Claimed) Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error) {
	jobs, err := q.Queue.Claim(ctx, me, d)
	if len(jobs) > 0 {
		q.Past.Took(jobs)
	}
	return jobs, err
}

// Recorded writes outcomes that the history has.
type Recorded struct {
	port.Records
	Past *Past
}

func (r Recorded) Write(
	ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time,
) ([]scheduler.Claim, bool, error) {
	stale, released, err := r.Records.Write(ctx, me, b, now)
	if err == nil && len(b.Records) > 0 {
		r.Past.Settled(b.Records, stale)
	}
	return stale, released, err
}

// Tries tells the history of tries at items: a tree's observer.
type Tries struct{ Past *Past }

func (Tries) Up(scheduler.HostName, scheduler.ChildName, scheduler.TypeName, time.Time, time.Time) {}
func (Tries) Died(scheduler.TypeName)                                                              {}

// Ran hears of items.
func (t Tries) Ran(items []scheduler.Result) { t.Past.Ran(items) }
