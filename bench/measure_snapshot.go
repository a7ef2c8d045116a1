package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// measureSnapshot holds a snapshot open elsewhere while many jobs pass, so that
// what is dead cannot be cleaned away, and compares how long a job takes then
// with how long it took before.
func measureSnapshot(ctx context.Context, b *bench, round int) error {
	n, jobs := b.length(100, 300), 150_000
	row := func(when string) string {
		return "a snapshot held while 150,000 jobs pass: commit → agent, p50, " + when
	}
	// parts are done one after the other on one database: by one run of a
	// program, or by one run each where a program has one set-up for single jobs
	// and another for a drain.
	take := func(c contender, restarts bool) func() error {
		return func() error {
			db, err := b.database(ctx, "")
			if err != nil {
				return err
			}
			var fresh, held float64
			var holder *pgx.Conn
			sample := func(p50 *float64) func(*session) error {
				return func(s *session) error {
					if _, _, err := s.sample(ctx, warmSamples); err != nil {
						return err
					}
					_, acked, err := s.sample(ctx, n)
					if err == nil {
						*p50 = percentile(acked, 0.5)
					}
					return err
				}
			}
			pass := func(s *session) error {
				if holder, err = pgx.Connect(ctx, db.url); err != nil {
					return err
				}
				var one int
				for _, statement := range []string{"begin isolation level repeatable read", "select 1 from pg_class limit 1"} {
					if err := holder.QueryRow(ctx, statement).Scan(&one); err != nil && err != pgx.ErrNoRows {
						return err
					}
				}
				_, err := s.drain(ctx, jobs)
				return err
			}
			defer func() {
				if holder != nil {
					_ = holder.Close(ctx)
				}
			}()
			parts := []func(*session) error{sample(&fresh), pass, sample(&held)}
			for i, part := range parts {
				all := []func(*session) error{part}
				if !restarts {
					all = parts
				}
				err := b.on(ctx, db, c, options{Drain: i == 1}, func(s *session) error {
					for _, part := range all {
						if err := part(s); err != nil {
							return err
						}
					}
					if i == 0 && restarts || c.name() != "bellhop" {
						return nil
					}
					return s.claimPlan(ctx)
				})
				if err != nil {
					return err
				}
				if !restarts {
					break
				}
			}
			b.note(round, row("before"), c.name(), fresh, "ms")
			b.note(round, row("held"), c.name(), held, "ms")
			b.note(round, row("times as long"), c.name(), held/fresh, "×")
			return db.drop(ctx)
		}
	}
	return inTurn(round, take(&reference{b: b}, true), take(&bellhop{b: b}, false), take(&river{b: b, best: true}, false))
}
