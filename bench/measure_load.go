package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// othersPerSecond is the load under which measureLoad takes its samples.
const othersPerSecond = 500

// underLoad begins the names of its rows.
const underLoad = "under 500 other jobs/s"

// measureLoad is measureLatency while another connection inserts other jobs.
func measureLoad(ctx context.Context, b *bench, round int) error {
	take := func(c contender) func() error {
		return func() error { return b.loaded(ctx, round, underLoad, c) }
	}
	return inTurn(round, take(&bellhop{b: b}), take(&river{b: b, best: true}))
}

// loaded takes samples of one contender under load.
func (b *bench) loaded(ctx context.Context, round int, row string, c contender) error {
	return b.with(ctx, c, options{}, func(s *session) error {
		loadCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		others, err := s.load(loadCtx)
		if err != nil {
			return err
		}
		if _, _, err := s.sample(ctx, 2*warmSamples); err != nil {
			return err
		}
		issued, acked, err := s.sample(ctx, b.length(150, 1000))
		cancel()
		r := <-others
		s.done += int64(r.n)
		if err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
		b.note(round, row+", issued → agent, p50", c.name(), percentile(issued, 0.5), "ms")
		b.note(round, row+", issued → agent, p99", c.name(), percentile(issued, 0.99), "ms")
		b.note(round, row+", commit acknowledged → agent, p50", c.name(), percentile(acked, 0.5), "ms")
		b.note(round, row+", commit acknowledged → agent, p99", c.name(), percentile(acked, 0.99), "ms")
		inserts := differences(issued, acked)
		b.note(round, row+", the INSERT itself, p50", c.name(), percentile(inserts, 0.5), "ms")
		b.note(round, row+", the INSERT itself, p99", c.name(), percentile(inserts, 0.99), "ms")
		if err := s.settle(ctx, 30*time.Second); err != nil {
			return err
		}
		return s.check(ctx)
	})
}

// loadEnd is how many jobs another connection has inserted.
type loadEnd struct {
	n   int
	err error
}

// load inserts other jobs on a connection of its own, until ctx ends.
func (s *session) load(ctx context.Context) (<-chan loadEnd, error) {
	others, err := pgx.Connect(ctx, s.db.url)
	if err != nil {
		return nil, err
	}
	ended := make(chan loadEnd, 1)
	go func() {
		defer func() { _ = others.Close(context.WithoutCancel(ctx)) }()
		n := 0
		for next := time.Now(); ctx.Err() == nil; n++ {
			if _, err := others.Exec(context.WithoutCancel(ctx), s.insertOne(), "other"); err != nil {
				ended <- loadEnd{n, err}
				return
			}
			next = next.Add(time.Second / othersPerSecond)
			time.Sleep(time.Until(next))
		}
		ended <- loadEnd{n, nil}
	}()
	return ended, nil
}
