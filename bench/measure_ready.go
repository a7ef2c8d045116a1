package main

import (
	"context"
	"time"
)

// measureReady lets 1,000,000 rows be ready: of a type that is worked off, and of one without an agent.
func measureReady(ctx context.Context, b *bench, round int) error {
	const n = 1_000_000
	const row = "1,000,000 ready rows"
	unserved, err := b.grown(ctx, "1,000,000 ready rows of another type", `
		set session_replication_role = replica; -- without a ring
		insert into bellhop.jobqueue (type, args) select 'other', g::text from generate_series(1, 1000000) g`)
	if err != nil {
		return err
	}
	served := func() error {
		return b.with(ctx, &bellhop{b: b}, options{Drain: true}, func(s *session) error {
			if _, err := s.drain(ctx, 2000); err != nil { // warm
				return err
			}
			if err := s.vacuum(ctx); err != nil {
				return err
			}
			for _, size := range []struct {
				n     int
				label string
			}{{50_000, "bellhop, 50,000 ready"}, {n, "bellhop"}} {
				rate, err := s.drain(ctx, size.n)
				if err != nil {
					return err
				}
				peak, err := memory(s.pid(), "status", "VmHWM")
				if err != nil {
					return err
				}
				b.note(round, row+" that are worked off: drain", size.label, rate, "jobs/s")
				b.note(round, row+" that are worked off: memory of serve, peak", size.label, peak, "MB")
			}
			if err := s.claimPlan(ctx); err != nil {
				return err
			}
			return s.check(ctx)
		})
	}
	urgent := func() error {
		return b.with(ctx, &bellhop{b: b}, options{Drain: true}, func(s *session) error {
			if _, err := s.drain(ctx, 2000); err != nil { // warm
				return err
			}
			if err := s.fill(ctx, n); err != nil {
				return err
			}
			began := time.Now()
			issued, _, err := s.sampleBy(ctx, 100, func(line string) error {
				s.done++
				_, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args, priority) values ('noop', $1, -20)", line)
				return err
			})
			if err != nil {
				return err
			}
			var left int
			if err := s.conn.QueryRow(ctx, s.left()).Scan(&left); err != nil {
				return err
			}
			if left == 0 {
				b.say("        the backlog was gone after %s: too fast for these samples", time.Since(began))
			}
			b.note(round, row+" that are worked off: an urgent one, issued → agent, p50", "bellhop", percentile(issued, 0.5), "ms")
			b.note(round, row+" that are worked off: an urgent one, issued → agent, p99", "bellhop", percentile(issued, 0.99), "ms")
			return s.settle(ctx, 10*time.Minute)
		})
	}
	others := growth{
		row:      row + " of a type without an agent",
		label:    "bellhop",
		template: unserved,
		make:     func() *bellhop { return &bellhop{b: b} },
		after: func(ctx context.Context, s *session) error {
			peak, err := memory(s.pid(), "status", "VmHWM")
			if err != nil {
				return err
			}
			b.note(round, row+" of a type without an agent: memory of serve, peak", s.name(), peak, "MB")
			return nil
		}}
	empty := others
	empty.label, empty.template = "bellhop, empty table", ""
	return inTurn(round, served, urgent, empty.step(ctx, b, round), others.step(ctx, b, round))
}
