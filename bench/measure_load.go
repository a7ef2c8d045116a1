package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// othersPerSecond is the load under which measureLoad takes its samples.
const othersPerSecond = 500

// measureLoad is measureLatency while another connection inserts other jobs.
func measureLoad(ctx context.Context, b *bench, round int) error {
	take := func(c contender) func() error {
		return func() error {
			return b.with(ctx, c, options{}, func(s *session) error {
				others, err := pgx.Connect(ctx, s.db.url)
				if err != nil {
					return err
				}
				defer func() { _ = others.Close(ctx) }()
				loadCtx, cancel := context.WithCancel(ctx)
				defer cancel()
				type result struct {
					n   int
					err error
				}
				ended := make(chan result, 1)
				go func() {
					n := 0
					for next := time.Now(); loadCtx.Err() == nil; n++ {
						if _, err := others.Exec(ctx, s.insertOne(), "other"); err != nil {
							ended <- result{n, err}
							return
						}
						next = next.Add(time.Second / othersPerSecond)
						time.Sleep(time.Until(next))
					}
					ended <- result{n, nil}
				}()
				if _, _, err := s.sample(ctx, 2*warmSamples); err != nil {
					return err
				}
				issued, acked, err := s.sample(ctx, b.length(150, 1000))
				cancel()
				r := <-ended
				s.done += int64(r.n)
				if err != nil {
					return err
				}
				if r.err != nil {
					return r.err
				}
				b.note(round, "under 500 other jobs/s, issued → agent, p50", c.name(), percentile(issued, 0.5), "ms")
				b.note(round, "under 500 other jobs/s, issued → agent, p99", c.name(), percentile(issued, 0.99), "ms")
				b.note(round, "under 500 other jobs/s, commit acknowledged → agent, p50", c.name(), percentile(acked, 0.5), "ms")
				b.note(round, "under 500 other jobs/s, commit acknowledged → agent, p99", c.name(), percentile(acked, 0.99), "ms")
				inserts := differences(issued, acked)
				b.note(round, "under 500 other jobs/s, the INSERT itself, p50", c.name(), percentile(inserts, 0.5), "ms")
				b.note(round, "under 500 other jobs/s, the INSERT itself, p99", c.name(), percentile(inserts, 0.99), "ms")
				if err := s.settle(ctx, 30*time.Second); err != nil {
					return err
				}
				return s.check(ctx)
			})
		}
	}
	return inTurn(round, take(&bellhop{b: b}), take(&river{b: b, best: true}))
}
