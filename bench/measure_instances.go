package main

import (
	"context"
	"fmt"
	"time"
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

	// Rows of twenty instances: bellhop with agents and with handlers inside, and River with as many clients.
	crowdRow         = "20 instances on one database"
	crowdPickUp      = crowdRow + ", idle: issued → agent, p50"
	crowdDrain       = crowdRow + ": drain of waiting jobs"
	crowdConnections = crowdRow + ", at rest: connections of each"
	crowdInside      = "bellhop, handlers inside"
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

// measureTwenty puts twenty instances beside as many of River.
func measureTwenty(ctx context.Context, b *bench, round int) error {
	list := []contender{
		&handlers{bellhop: bellhop{b: b, label: crowdInside}, inside: process{many: mostInstances}},
		&river{process: process{many: mostInstances}, b: b, best: true},
	}
	for _, c := range b.both() {
		c.many = mostInstances
		list = append(list, &c)
	}
	var steps []func() error
	for _, c := range list {
		steps = append(steps, func() error { return b.twenty(ctx, round, c) })
	}
	return inTurn(round, steps...)
}

// twenty takes what twenty instances of one contender do.
func (b *bench) twenty(ctx context.Context, round int, c contender) error {
	if err := b.with(ctx, c, options{}, func(s *session) error {
		if _, _, err := s.sample(ctx, warmSamples*mostInstances); err != nil {
			return err
		}
		issued, _, err := s.sample(ctx, b.length(120, 600))
		if err != nil {
			return err
		}
		b.note(round, crowdPickUp, c.name(), percentile(issued, 0.5), "ms")
		// Connections that were needed for work only are closed after a while.
		time.Sleep(10 * time.Second)
		var n float64
		if err := s.conn.QueryRow(ctx, `select count(*) - 1 from pg_stat_activity
			where datname = current_database() and backend_type = 'client backend'`).Scan(&n); err != nil {
			return err
		}
		b.note(round, crowdConnections, c.name(), n/mostInstances, "")
		return nil
	}); err != nil {
		return err
	}
	if err := b.loaded(ctx, round, crowdRow+", "+underLoad, c); err != nil {
		return err
	}
	rate, err := b.drained(ctx, c, options{Drain: true}, instancesDrain)
	if err == nil {
		b.note(round, crowdDrain, c.name(), rate, "jobs/s")
	}
	return err
}
