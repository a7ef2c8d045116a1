package main

import (
	"context"
	"fmt"
	"time"
)

const (
	drainOfShares   = "fair shares: drain of waiting no-op jobs"
	drainOfLimited  = "fair shares: drain of jobs that a pass claims, each with a lock of its own"
	behindAFlood    = "fair shares: a new key beside a flood, starts before its own, worst of 100"
	behindFloodTime = "fair shares: a new key beside a flood, INSERT issued → agent, p50"
)

// measureFair works off jobs of 1,000 keys beside jobs without a share, and asks how many starts come before that of a
// key which had no work, beside a key that floods the queue.
func measureFair(ctx context.Context, b *bench, round int) error {
	n := b.length(20_000, 100_000)
	drained := func(row, label, column, value string, n int) func() error {
		return func() error { return b.drainedOf(ctx, round, row, &bellhop{b: b, label: label}, n, column, value) }
	}
	const lock = "array['own:' || g || '=exclusive'], "
	return inTurn(round,
		drained(drainOfShares, "bellhop, no shares", "share", "null", n),
		drained(drainOfShares, "bellhop", "share", "'key' || g % 1000", n),
		drained(drainOfShares, "bellhop, a lone key", "share", "'key'", n),
		drained(drainOfLimited, "bellhop, no shares", "locks, share", lock+"null", n/4),
		drained(drainOfLimited, "bellhop", "locks, share", lock+"'key' || g % 1000", n/4),
		func() error {
			return b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error { return s.besideAFlood(ctx, round, 3*n) })
		})
}

// besideAFlood lets one key have n jobs waiting, and submits single jobs of other keys, one after the other.
func (s *session) besideAFlood(ctx context.Context, round, n int) error {
	if _, err := s.conn.Exec(ctx, `insert into bellhop.jobqueue (type, args, share)
		select 'noop', g::text, 'flood' from generate_series(1, $1::int) g`, n); err != nil {
		return err
	}
	s.done += int64(n)
	var most int64
	var waits []float64
	for i := range 100 {
		var id int64
		if err := s.conn.QueryRow(ctx, `insert into bellhop.jobqueue (type, args, share) values ('noop', 'x', $1)
			returning id`, fmt.Sprint("new", i)).Scan(&id); err != nil {
			return err
		}
		s.done++
		if err := s.until(ctx, "select state = 'succeeded' from bellhop.jobqueue where id = $1", id); err != nil {
			return err
		}
		var ahead int64
		var waited float64
		if err := s.conn.QueryRow(ctx, `select extract(epoch from o.started_at - o.created_at) * 1e6, (
				select count(*) from bellhop.jobqueue j where j.started_at > o.created_at and j.started_at < o.started_at)
			from bellhop.jobqueue o where o.id = $1`, id).Scan(&waited, &ahead); err != nil {
			return err
		}
		most, waits = max(most, ahead), append(waits, waited)
	}
	s.b.note(round, behindAFlood, "bellhop", float64(most), "starts")
	s.b.note(round, behindFloodTime, "bellhop", median(waits), "µs")
	return s.settle(ctx, 10*time.Minute)
}
