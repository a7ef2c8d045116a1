package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/bench/receipt"
	"bellhop/client/agent"
	inside "bellhop/client/worker"
)

// handlers is bellhop inside an app: no process, and no pipe. What is inserted and
// looked at is as with agents.
type handlers struct {
	bellhop
	inside process
	batch  int // how many jobs a handler gets in one call; 0: one at a time
}

func (h *handlers) start(ctx context.Context, url string, o options) error {
	if err := h.b.migrate(ctx, h.b.binary, url); err != nil {
		return err
	}
	o.Batch = h.batch
	return h.inside.run(h.b, yardstick{Kind: "handlers", URL: url, options: o})
}

func (h *handlers) stop() error { return h.inside.stop() }
func (h *handlers) pid() int    { return h.inside.pid() }
func (h *handlers) pids() []int { return []int{h.pid()} } // the app is the instance

// startHandlers is such an app, as it comes.
func startHandlers(ctx context.Context, y yardstick) (stop func() error, err error) {
	pool, err := pgxpool.New(ctx, y.URL)
	if err != nil {
		return nil, err
	}
	desk, err := receipt.Open(y.Notes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	steps := func(ctx context.Context, job *agent.Job[string]) error { return stepper(ctx, desk, job) }
	parts := []inside.Part{inside.Logger(quiet), inside.Handle("steps", steps), noop(desk, y.Batch)}
	if y.Slots > 0 {
		parts = append(parts, inside.Slots(y.Slots))
	}
	go func() {
		ended <- inside.Run(ctx, pool, parts...)
	}()
	stop = func() error {
		cancel()
		err := <-ended
		pool.Close()
		return err
	}
	for {
		var live bool
		if err := pool.QueryRow(ctx, "select exists (select from bellhop.instance where state = 'live')").Scan(&live); err != nil && err != pgx.ErrNoRows {
			return nil, err
		}
		if live {
			return stop, nil
		}
		select {
		case err := <-ended:
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// noop is the handler of jobs that do nothing, or sleep: one at a time, or a batch in one call.
func noop(desk *receipt.Desk, batch int) inside.Part {
	one := func(ctx context.Context, job *agent.Job[string]) error {
		work, err := desk.Take([]byte(job.Args))
		if work > 0 {
			select {
			case <-time.After(work):
			case <-ctx.Done():
			}
		}
		return err
	}
	if batch == 0 {
		return inside.Handle("noop", one)
	}
	return inside.HandleBatch("noop", batch, 0, func(ctx context.Context, jobs []*agent.Job[string]) []error {
		errs := make([]error, len(jobs))
		for i, job := range jobs {
			errs[i] = one(ctx, job)
		}
		return errs
	})
}

// stepper is a handler of many steps.
func stepper(ctx context.Context, desk *receipt.Desk, job *agent.Job[string]) error {
	if _, err := desk.Take([]byte(job.Args)); err != nil {
		return err
	}
	for n := range stepsAJob {
		if _, err := agent.Step(ctx, job, fmt.Sprint("step ", n), func(context.Context) (map[string]int, error) {
			return map[string]int{"row": n}, nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// measureHandlers is the comparison for users of River: handlers inside the app, there and here.
func measureHandlers(ctx context.Context, b *bench, round int) error {
	const n = 50_000
	drain := func(measure string, c contender) func() error {
		return func() error { return b.drainAndCost(ctx, round, measure, c, options{Drain: true}, n) }
	}
	pickUp := func(c contender) func() error {
		return func() error {
			return b.with(ctx, c, options{}, func(s *session) error {
				if _, _, err := s.sample(ctx, warmSamples); err != nil {
					return err
				}
				if err := s.vacuum(ctx); err != nil {
					return err
				}
				issued, acked, err := s.sample(ctx, b.length(120, 1000))
				if err != nil {
					return err
				}
				b.note(round, pickUpInside, c.name(), percentile(issued, 0.5), "ms")
				b.note(round, ackedInside, c.name(), percentile(acked, 0.5), "ms")
				return nil
			})
		}
	}
	app := func() contender { return &handlers{bellhop: bellhop{b: b}} }
	behindPipes := func() contender { return &bellhop{b: b, label: "bellhop, agents behind pipes"} }
	best := func() contender { return &river{b: b, best: true} }
	return inTurn(round, drain(drainInside, app()), drain(drainInside, behindPipes()), drain(drainInside, best()),
		drain(drainBatches, &handlers{bellhop: bellhop{b: b}, batch: batchSize}), drain(drainBatches, best()),
		pickUp(app()), pickUp(behindPipes()), pickUp(best()))
}

const (
	drainInside  = "handlers inside the app: drain of 50,000"
	pickUpInside = "handlers inside the app: INSERT issued → handler, p50"
	ackedInside  = "handlers inside the app: commit acknowledged → handler, p50"
	// A handler that gets up to batchSize jobs in one call; River's get one.
	batchSize    = 100
	drainBatches = "handlers inside the app, HandleBatch of 100: drain of 50,000"
)
