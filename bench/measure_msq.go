package main

import (
	"context"
	"fmt"
	"time"
)

// measureMSQ compares the items of one query, dealt to two warm children in
// lockstep, with what pipes to two such children can do at all.
func measureMSQ(ctx context.Context, b *bench, round int) error {
	const row = "MSQ, items to 2 warm children in lockstep"
	n := b.length(100_000, 300_000)
	ours := func() error {
		return b.with(ctx, &bellhop{b: b, max: 2}, options{}, func(s *session) error {
			run := func(items int) (rate float64, err error) {
				var id int64
				if err := s.conn.QueryRow(ctx, "insert into bellhop.jobqueue (type, msq) values ('noop', $1) returning id",
					fmt.Sprintf("select g as id from generate_series(1, %d) g", items)).Scan(&id); err != nil {
					return 0, err
				}
				s.done += int64(items)
				began := time.Now()
				if err := s.settle(ctx, 5*time.Minute); err != nil {
					return 0, err
				}
				took := time.Since(began)
				var state string
				var done, failed int
				if err := s.conn.QueryRow(ctx, "select state, items_done, items_failed from bellhop.jobqueue where id = $1", id).Scan(&state, &done, &failed); err != nil {
					return 0, err
				}
				if state != "succeeded" || done != items || failed != 0 {
					return 0, fmt.Errorf("the job is %s with %d of %d items done and %d failed", state, done, items, failed)
				}
				return float64(items) / took.Seconds(), nil
			}
			if _, err := run(5000); err != nil { // warm: both children up, their pace known
				return err
			}
			rate, err := run(n)
			if err != nil {
				return err
			}
			b.note(round, row, "bellhop", rate, "items/s")
			return nil
		})
	}
	limit := func(name string, start func(program string) (piped, error)) func() error {
		return func() error {
			rate, err := b.pipes(2, n, start)
			if err != nil {
				return err
			}
			b.note(round, row, name, rate, "items/s")
			return nil
		}
	}
	return inTurn(round, ours, limit("pipe limit", startPolled), limit("pipe limit, blocking descriptors", startBlocking))
}
