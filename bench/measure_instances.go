package main

import (
	"context"
	"fmt"
)

// Rows of several instances on one database, and on the processors of one.
const (
	oneInstance    = "bellhop, one instance"
	pickUpOfMany   = "%d instances on one database: issued → agent, p50"
	drainOfMany    = "4 instances on one database: drain of 50,000"
	someInstances  = 4
	manyInstances  = 8
	instancesDrain = 50_000
)

// measureInstances puts several instances on one database, all on this machine:
// each hears every ring, and asks for what one of them gets.
func measureInstances(ctx context.Context, b *bench, round int) error {
	n := b.length(120, 600)
	pick := func(many int) func() error {
		return func() error {
			return b.with(ctx, &bellhop{b: b, many: many}, options{}, func(s *session) error {
				if _, _, err := s.sample(ctx, warmSamples*many); err != nil { // every instance's child is up
					return err
				}
				if err := s.vacuum(ctx); err != nil {
					return err
				}
				issued, _, err := s.sample(ctx, n)
				if err != nil {
					return err
				}
				if many > 1 {
					b.note(round, fmt.Sprintf(pickUpOfMany, many), "bellhop", percentile(issued, 0.5), "ms")
					return nil
				}
				for _, of := range []int{someInstances, manyInstances} {
					b.note(round, fmt.Sprintf(pickUpOfMany, of), oneInstance, percentile(issued, 0.5), "ms")
				}
				return nil
			})
		}
	}
	drain := func(many int, label string) func() error {
		return func() error {
			rate, err := b.drained(ctx, &bellhop{b: b, many: many}, options{Drain: true}, instancesDrain)
			if err == nil {
				b.note(round, drainOfMany, label, rate, "jobs/s")
			}
			return err
		}
	}
	return inTurn(round, pick(1), pick(someInstances), pick(manyInstances), drain(1, oneInstance), drain(someInstances, "bellhop"))
}
