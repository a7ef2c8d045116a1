package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bellhop/bench/receipt"
)

const (
	drainOfLocked = "drain of waiting no-op jobs, each with a lock of its own"
	handOver      = "one hot lock, line → next line, p50"
)

// measureLocks works off jobs that each have a lock of their own, beside such
// without, and jobs that all want the same lock, one after the other, beside a
// job that is inserted into an idle queue.
func measureLocks(ctx context.Context, b *bench, round int) error {
	n := b.length(5000, 20_000)
	drained := func(label, locks string) func() error {
		return func() error {
			return b.drainedOf(ctx, round, drainOfLocked, &bellhop{b: b, label: label}, n, "locks", locks)
		}
	}
	return inTurn(round,
		drained("bellhop, no locks", "null::text[]"),
		drained("bellhop", "array['own:' || g || '=exclusive']"),
		func() error {
			return b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error { return s.handsOver(ctx, round) })
		},
		func() error {
			return b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error { return s.amidACrowd(ctx, round) })
		})
}

// drainedOf notes at what rate a program works off n jobs that are inserted by one statement, with a value (SQL of the
// number g) in one more column.
func (b *bench) drainedOf(ctx context.Context, round int, row string, c *bellhop, n int, column, value string) error {
	return b.with(ctx, c, options{}, func(s *session) error {
		var took time.Duration
		for _, n := range []int{500, n} { // the first warms
			if _, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args, "+column+") select 'noop', g::text, "+value+
				" from generate_series(1, $1::int) g", n); err != nil {
				return err
			}
			s.done += int64(n)
			began := time.Now()
			if err := s.settle(ctx, 5*time.Minute); err != nil {
				return err
			}
			took = time.Since(began)
		}
		b.note(round, row, c.name(), float64(n)/took.Seconds(), "jobs/s")
		return nil
	})
}

// handsOver times how long a lock takes from one job's line to the next one's.
func (s *session) handsOver(ctx context.Context, round int) error {
	b := s.b
	if _, _, err := s.sample(ctx, warmSamples); err != nil {
		return err
	}
	idle, _, err := s.sample(ctx, b.length(100, 500))
	if err != nil {
		return err
	}
	hops, err := s.hops(ctx, b.length(200, 1000))
	if err != nil {
		return err
	}
	b.note(round, handOver, "bellhop", percentile(hops, 0.5), "ms")
	b.note(round, handOver, "bellhop, idle pick-up", percentile(idle, 0.5), "ms")
	return nil
}

// hops gives n jobs that all want one lock, and times each from the line before it, in ms.
func (s *session) hops(ctx context.Context, n int) ([]float64, error) {
	before, err := receipt.Notes(s.notes)
	if err != nil {
		return nil, err
	}
	if _, err := s.conn.Exec(ctx, `insert into bellhop.jobqueue (type, args, locks)
		select 'noop', 't' || g, '{hot:x=exclusive}' from generate_series($1::int, $2::int) g`, before, before+n-1); err != nil {
		return nil, err
	}
	s.done += int64(n)
	got, err := s.receipts(before+n, 2*time.Minute)
	if err != nil {
		return nil, err
	}
	var at []int64
	for i := before; i < before+n; i++ {
		at = append(at, got[fmt.Sprint("t", i)])
	}
	slices.Sort(at)
	var hops []float64
	for i := n / 4; i < n; i++ { // those before are also told behind which lock they wait
		hops = append(hops, float64(at[i]-at[i-1])/1e6)
	}
	return hops, nil
}
