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
			rate, err := b.drained(ctx, c, options{Drain: true}, n)
			if err != nil {
				return err
			}
			b.note(round, "drain of 50,000 waiting no-op jobs", c.name(), rate, "jobs/s")
			return nil
		}
	}
	// River default makes 1,000 a second: fewer of them give the same rate.
	return inTurn(round, take(&reference{b: b}, n), take(&bellhop{b: b}, n), take(&river{b: b, best: true}, n),
		take(&river{b: b}, 2000))
}

// drained gives the rate at which a warm contender works off n jobs.
func (b *bench) drained(ctx context.Context, c contender, o options, n int) (rate float64, err error) {
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
		if rate, err = s.drain(ctx, n); err != nil {
			return err
		}
		return s.check(ctx)
	})
	return rate, err
}
