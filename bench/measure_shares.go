package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// sharesOfPeak are the loads under which measureShares looks: of the lower of both peaks, so that
// both can do it.
var sharesOfPeak = []struct {
	name string
	of   float64
}{{"a third", 1. / 3}, {"two thirds", 2. / 3}}

// measureShares takes samples for a while under a steady load of other jobs: a third and two
// thirds of what was drained right before.
func measureShares(ctx context.Context, b *bench, round int) error {
	span := time.Duration(b.length(10, 60)) * time.Second
	makers := []func() contender{
		func() contender { return &bellhop{b: b} },
		func() contender { return &river{b: b, best: true} },
	}
	var peak float64
	for _, c := range makers {
		rate, err := b.drained(ctx, c(), options{Drain: true}, b.length(20_000, 50_000))
		if err != nil {
			return err
		}
		if peak == 0 || rate < peak {
			peak = rate
		}
	}
	for _, share := range sharesOfPeak {
		row := "steady, " + share.name + " of the peak"
		var steps []func() error
		for _, c := range makers {
			steps = append(steps, func() error { return b.sampleUnder(ctx, round, row, c(), share.of*peak, span) })
		}
		if err := inTurn(round, steps...); err != nil {
			return err
		}
	}
	return nil
}

// sampleUnder takes samples beside so many other jobs a second, which come by one
// statement each 10 ms. A statement that is late is not skipped.
func (b *bench) sampleUnder(
	ctx context.Context, round int, row string, c contender, rate float64, span time.Duration,
) error {
	const gap, meanGap = 10 * time.Millisecond, 15 * time.Millisecond // meanGap: of samples
	return b.with(ctx, c, options{Drain: true}, func(s *session) error {
		if _, _, err := s.sample(ctx, 2*warmSamples); err != nil {
			return err
		}
		others, err := pgx.Connect(ctx, s.db.url)
		if err != nil {
			return err
		}
		defer func() { _ = others.Close(ctx) }()
		each := max(1, int(rate*gap.Seconds()))
		ended, stop := make(chan error, 1), make(chan struct{})
		statements := 0
		began := time.Now()
		go func() {
			for next := began; ; statements++ {
				select {
				case <-stop:
					ended <- nil
					return
				case <-time.After(time.Until(next)):
				}
				next = next.Add(gap)
				if _, err := others.Exec(ctx, s.insertMany(), each); err != nil {
					ended <- err
					return
				}
			}
		}()
		issued, _, err := s.sample(ctx, int(span/meanGap))
		took := time.Since(began)
		close(stop)
		if failed := <-ended; err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
		s.done += int64(statements * each)
		b.note(round, row+", issued → agent, p50", c.name(), percentile(issued, 0.5), "ms")
		b.note(round, row+", issued → agent, p99", c.name(), percentile(issued, 0.99), "ms")
		b.note(round, row+", rate of the others", c.name(), float64(statements*each)/took.Seconds(), "jobs/s")
		b.note(round, row+", rate of the others", "wanted", rate, "jobs/s")
		if err := s.settle(ctx, 2*time.Minute); err != nil {
			return fmt.Errorf("after %s: %w", row, err)
		}
		return s.check(ctx)
	})
}
