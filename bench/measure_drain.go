package main

import (
	"context"
	"time"
)

// measureDrain lets a running program work off many waiting no-op jobs.
func measureDrain(ctx context.Context, b *bench, round int) error {
	const n = 50_000
	take := func(c contender, n int) func() error {
		return func() error {
			return b.drainAndCost(ctx, round, drainOfWaiting, c, options{Drain: true}, n)
		}
	}
	// River default makes 1,000 a second: fewer of them give the same rate.
	return inTurn(round, take(&reference{b: b}, n), take(&bellhop{b: b}, n), take(&river{b: b, best: true}, n),
		take(&river{b: b}, 2000))
}

const drainOfWaiting = "drain of 50,000 waiting no-op jobs"

// drainAndCost notes at what rate a warm contender works off n jobs, and what a job costs by part.
func (b *bench) drainAndCost(ctx context.Context, round int, row string, c contender, o options, n int) error {
	rate, before, after, err := b.drainedAt(ctx, c, o, n)
	if err != nil {
		return err
	}
	b.note(round, row, c.name(), rate, "jobs/s")
	b.noteCost(round, row, c.name(), before, after, n)
	return nil
}

// drained gives the rate at which a warm contender works off n jobs.
func (b *bench) drained(ctx context.Context, c contender, o options, n int) (rate float64, err error) {
	rate, _, _, err = b.drainedAt(ctx, c, o, n)
	return rate, err
}

// drainedAt also gives what all had cost before and after.
func (b *bench) drainedAt(
	ctx context.Context, c contender, o options, n int,
) (rate float64, before, after cost, err error) {
	err = b.with(ctx, c, o, func(s *session) error {
		// Warm: children up, statements prepared, statistics there; the same for all.
		if err := s.fill(ctx, min(2000, n)); err != nil {
			return err
		}
		if err := s.settle(ctx, time.Minute); err != nil {
			return err
		}
		if err := s.vacuum(ctx); err != nil {
			return err
		}
		if before, err = s.cost(ctx); err != nil {
			return err
		}
		if rate, err = s.drain(ctx, n); err != nil {
			return err
		}
		if after, err = s.cost(ctx); err != nil {
			return err
		}
		return s.check(ctx)
	})
	return rate, before, after, err
}
