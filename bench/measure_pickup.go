package main

import (
	"context"
	"fmt"
)

// measurePickUp compares the idle pick-up of several instances on one database
// with that of one, and with what it is under another binary (-before), in the
// same round. The instances share the processors with all else.
func measurePickUp(ctx context.Context, b *bench, round int) error {
	n := b.length(120, 600)
	pick := func(many int, c *bellhop) func() error {
		return func() error {
			c.many = many
			return b.with(ctx, c, options{}, func(s *session) error {
				if _, _, err := s.sample(ctx, warmSamples*many); err != nil { // every instance's child is up
					return err
				}
				if err := s.vacuum(ctx); err != nil {
					return err
				}
				before, err := s.cost(ctx)
				if err != nil {
					return err
				}
				issued, acked, err := s.sample(ctx, n)
				if err != nil {
					return err
				}
				after, err := s.cost(ctx)
				if err != nil {
					return err
				}
				row := fmt.Sprintf("%d on one database: ", many)
				b.note(round, row+"issued → agent, p50", c.name(), percentile(issued, 0.5), "ms")
				b.note(round, row+"issued → agent, p99", c.name(), percentile(issued, 0.99), "ms")
				b.note(round, row+"commit → agent, p50", c.name(), percentile(acked, 0.5), "ms")
				for _, of := range []part{partServer, partScheduler} {
					used := after.since(before, of).Microseconds()
					b.note(round, row+"CPU a job, "+string(of), c.name(), float64(used)/float64(n), "µs")
				}
				return nil
			})
		}
	}
	binaries := []*bellhop{{b: b, label: "bellhop"}}
	if b.before != "" {
		binaries = append(binaries, &bellhop{b: b, label: programBefore, binary: b.before})
	}
	var steps []func() error
	for _, many := range []int{1, someInstances, manyInstances} {
		for _, c := range binaries {
			steps = append(steps, pick(many, c))
		}
	}
	return inTurn(round, steps...)
}
