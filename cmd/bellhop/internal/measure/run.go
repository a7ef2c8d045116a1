package measure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/client/agent"
	"bellhop/client/worker"
)

// patience is for a job that does not begin, on however slow a machine: then something is wrong.
const patience = time.Minute

// bench is one measurement.
type bench struct {
	pool  *pgxpool.Pool
	typ   string // used by nothing else
	slots int
	log   *slog.Logger
	begun chan int // which job, or -1: one that is counted only
	first int64    // the id of the first of them; 0: there is none
}

// measure runs an instance of its own, and deletes what it has made.
func (b *bench) measure(ctx context.Context, rounds, jobs int) (f figures, err error) {
	b.begun = make(chan int, b.slots)
	beside, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(beside, b.pool, worker.Slots(b.slots), worker.Logger(b.log), worker.Name("bench"),
			worker.Handle(b.typ, func(ctx context.Context, job *agent.Job[int]) error {
				select {
				case b.begun <- job.Args:
				case <-ctx.Done():
				}
				return nil
			}))
		stop() // a wait for a job would not end any more
	}()
	f, err = b.figures(beside, rounds, jobs)
	stop()
	failed := <-ended
	if err != nil && ctx.Err() == nil && failed != nil && !errors.Is(failed, context.Canceled) {
		err = failed // why nothing began
	}
	return f, errors.Join(err, b.forget(context.WithoutCancel(ctx)))
}

func (b *bench) figures(ctx context.Context, rounds, jobs int) (f figures, err error) {
	f.Rounds, f.Jobs = rounds, jobs
	if _, err := b.pickUp(ctx, 0); err != nil { // the instance comes up
		return f, err
	}
	var commits, pickUps []time.Duration
	for n := range rounds {
		began := time.Now()
		if _, err := b.pool.Exec(ctx, heldSQL, b.typ); err != nil {
			return f, fmt.Errorf("insert a job: %w", err)
		}
		commits = append(commits, time.Since(began))
		took, err := b.pickUp(ctx, n+1)
		if err != nil {
			return f, err
		}
		pickUps = append(pickUps, took)
	}
	f.CommitP50, f.CommitP99 = quantiles(commits)
	f.PickUpP50, f.PickUpP99 = quantiles(pickUps)
	if _, err := b.pool.Exec(ctx, drainSQL, b.typ, jobs); err != nil {
		return f, fmt.Errorf("insert jobs: %w", err)
	}
	began := time.Now()
	for range jobs {
		if _, err := b.next(ctx); err != nil {
			return f, err
		}
	}
	f.PerSecond = float64(jobs) / time.Since(began).Seconds()
	return f, nil
}

// pickUp inserts a job and waits until it begins.
func (b *bench) pickUp(ctx context.Context, n int) (took time.Duration, err error) {
	began := time.Now()
	var id int64
	if err := b.pool.QueryRow(ctx, oneSQL, b.typ, strconv.Itoa(n)).Scan(&id); err != nil {
		return 0, fmt.Errorf("insert a job: %w", err)
	}
	if b.first == 0 {
		b.first = id
	}
	for {
		which, err := b.next(ctx)
		if err != nil || which == n {
			return time.Since(began), err
		}
	}
}

// next waits until some job begins.
func (b *bench) next(ctx context.Context) (which int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no job of type %s has begun within %s: bellhop explain says why", b.typ, patience))
	defer cancel()
	select {
	case which = <-b.begun:
		return which, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// forget deletes what was measured with.
func (b *bench) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for b.first > 0 {
		var n int
		if err := b.pool.QueryRow(ctx, forgetSQL, b.typ, b.first, 10_000).Scan(&n); err != nil {
			return fmt.Errorf("delete the jobs of type %s: %w", b.typ, err)
		}
		if n == 0 {
			break
		}
	}
	return nil
}
