package main

import (
	"context"
	"fmt"
)

// Rows of several instances on one database, and on the processors of one.
const (
	oneInstance    = "bellhop, one instance"
	pickUpOfMany   = "%d instances on one database: issued → agent, p50"
	drainOfMany    = "%d instances on one database: drain of 50,000"
	someInstances  = 4
	manyInstances  = 8
	mostInstances  = 20
	instancesDrain = 50_000
)

// measureInstances puts several instances on one database, all on this machine: each hears every ring, and asks for
// what one of them gets.
func measureInstances(ctx context.Context, b *bench, round int) error {
	n := b.length(120, 600)
	crowds := []int{someInstances, manyInstances, mostInstances}
	var steps []func() error
	for _, c := range b.both() {
		one := func(c bellhop, crowd string, value float64, unit string) {
			for _, many := range crowds {
				b.note(round, fmt.Sprintf(crowd, many), c.name()+", one instance", value, unit)
			}
		}
		for _, many := range append([]int{1}, crowds...) {
			c := c
			c.many = many
			steps = append(steps, func() error {
				return b.with(ctx, &c, options{}, func(s *session) error {
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
					if many == 1 {
						one(c, pickUpOfMany, percentile(issued, 0.5), "ms")
						return nil
					}
					b.note(round, fmt.Sprintf(pickUpOfMany, many), c.name(), percentile(issued, 0.5), "ms")
					return nil
				})
			}, func() error {
				rate, err := b.drained(ctx, &c, options{Drain: true}, instancesDrain)
				switch {
				case err != nil:
				case many == 1:
					one(c, drainOfMany, rate, "jobs/s")
				default:
					b.note(round, fmt.Sprintf(drainOfMany, many), c.name(), rate, "jobs/s")
				}
				return err
			})
		}
	}
	return inTurn(round, steps...)
}
