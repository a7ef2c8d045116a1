package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// phase is a part of a long run: jobs come at a fixed rate, and something else goes on beside them.
type phase struct {
	name  string
	slots int // children of bellhop's one host; River has the workers of its best set-up
	// burst: the jobs of so long come by one statement; 0: each by its own.
	burst time.Duration
	// beside returns when ctx ends; nil: nothing.
	beside func(ctx context.Context, s *session) error
	// bellhop: River is left out, whose program is not ended and started again here.
	bellhop bool
}

// phases are those of public harnesses for job queues.
var phases = []phase{
	{name: "64 workers", slots: 64},
	{name: "256 workers", slots: 256},
	{name: "a held snapshot", slots: 64, beside: holdSnapshot},
	{name: "readers", slots: 64, beside: readQueue},
	{name: "bursts", slots: 64, burst: 5 * time.Second},
	{name: "kills", slots: 64, beside: killInstance, bellhop: true},
	{name: "restarts of PostgreSQL", slots: 64, beside: restartServer, bellhop: true},
}

// longProducers share the jobs (-rate) between them, each with 1 ms of work.
const longProducers = 4

// What a long run has shown, by phase.
const (
	longP95    = "long, %s: INSERT → end, p95"
	longP99    = "long, %s: INSERT → end, p99"
	longSteady = "long, %s: p99 of the last tenth ÷ the first one's"
	longDead   = "long, %s: dead rows a job"
	longWAL    = "long, %s: WAL a job"
	longTable  = "long, %s: table and indexes a job"
)

// measureLong runs each phase for a while (-span), beside River where that takes part.
func measureLong(ctx context.Context, b *bench, round int) error {
	if b.phaseOnly != "" && !slices.ContainsFunc(phases, func(p phase) bool { return p.name == b.phaseOnly }) {
		return fmt.Errorf("no phase is called %q: see measure_long.go", b.phaseOnly)
	}
	for _, p := range phases {
		if b.phaseOnly != "" && p.name != b.phaseOnly {
			continue
		}
		steps := []func() error{func() error { return b.phase(ctx, round, p, &bellhop{b: b, slots: p.slots, max: p.slots}) }}
		if !p.bellhop {
			steps = append(steps, func() error { return b.phase(ctx, round, p, &river{b: b, best: true}) })
		}
		if err := inTurn(round, steps...); err != nil {
			return err
		}
	}
	return nil
}

// tally is how much there is at a moment.
type tally struct{ dead, bytes, wal int64 }

func (b *bench) phase(ctx context.Context, round int, p phase, c contender) error {
	span := b.span
	return b.with(ctx, c, options{}, func(s *session) error {
		s.uncounted = true // a kill may repeat a line
		if err := s.vacuum(ctx); err != nil {
			return err
		}
		first, err := s.tally(ctx)
		if err != nil {
			return err
		}
		var since time.Time
		if err := s.conn.QueryRow(ctx, "select clock_timestamp()").Scan(&since); err != nil {
			return err
		}
		inside, stop := context.WithCancel(ctx)
		failed := make(chan error, 1)
		go func() {
			if p.beside == nil {
				failed <- nil
				return
			}
			failed <- p.beside(inside, s)
		}()
		n, err := s.produce(ctx, p, span)
		var last tally
		if err == nil {
			last, err = s.tally(ctx) // while the snapshot is still held
		}
		stop()
		if beside := <-failed; err == nil {
			err = beside
		}
		if err != nil {
			return err
		}
		if err := s.look(ctx, func() error { return s.settle(ctx, 5*time.Minute) }); err != nil {
			return err
		}
		each := func(of int64) float64 { return float64(of) / float64(n) }
		b.note(round, fmt.Sprintf(longDead, p.name), c.name(), each(last.dead-first.dead), "")
		b.note(round, fmt.Sprintf(longWAL, p.name), c.name(), each(last.wal-first.wal), "B")
		b.note(round, fmt.Sprintf(longTable, p.name), c.name(), each(last.bytes-first.bytes), "B")
		return s.tenths(ctx, round, p, since, span)
	})
}

// table is where a contender has its jobs, and done when one of them has ended.
func (s *session) table() (name, done string) {
	if _, is := s.contender.(*river); is {
		return "river_job", "finalized_at"
	}
	return "bellhop.jobqueue", "ended_at"
}

func (s *session) tally(ctx context.Context) (t tally, err error) {
	name, _ := s.table()
	err = s.look(ctx, func() error {
		return s.conn.QueryRow(ctx, `select pg_stat_get_dead_tuples($1::regclass), pg_total_relation_size($1::regclass),
			pg_current_wal_insert_lsn() - '0/0'`, name).Scan(&t.dead, &t.bytes, &t.wal)
	})
	return t, err
}

// tenths gives how long jobs took, over the whole phase and by its tenths.
func (s *session) tenths(ctx context.Context, round int, p phase, since time.Time, span time.Duration) error {
	name, done := s.table()
	rows, err := s.conn.Query(ctx, `select coalesce(tenth, 0), count(*), percentile_cont(0.95) within group (order by ms),
			percentile_cont(0.99) within group (order by ms)
		from (select least(10, 1 + floor(extract(epoch from created_at - $1) / $2 * 10))::int as tenth,
			extract(epoch from `+done+` - created_at)::float8 * 1000 as ms from `+name+` where created_at >= $1) j
		group by rollup (tenth) order by 1`, since, span.Seconds())
	if err != nil {
		return err
	}
	var tenth, jobs int
	var p95, p99, first float64
	_, err = pgx.ForEachRow(rows, []any{&tenth, &jobs, &p95, &p99}, func() error {
		switch tenth {
		case 0:
			s.b.note(round, fmt.Sprintf(longP95, p.name), s.name(), p95, "ms")
			s.b.note(round, fmt.Sprintf(longP99, p.name), s.name(), p99, "ms")
			return nil
		case 1:
			first = p99
		case 10:
			s.b.note(round, fmt.Sprintf(longSteady, p.name), s.name(), p99/first, "×")
		}
		s.b.say("    tenth %d: %d jobs, p95 %s ms, p99 %s ms", tenth, jobs, number(p95), number(p99))
		return nil
	})
	return err
}

// produce inserts at the rate, and gives how many jobs there are. A producer whose server goes away connects again.
func (s *session) produce(ctx context.Context, p phase, span time.Duration) (n int, err error) {
	if p.burst > 0 {
		for began := time.Now(); time.Since(began) < span; time.Sleep(p.burst) {
			many := int(p.burst.Seconds() * float64(s.b.rate))
			if _, err := s.conn.Exec(ctx, s.insertMany(), many); err != nil {
				return n, err
			}
			n += many
		}
		return n, nil
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for range longProducers {
		all.Go(func() {
			done, failed := s.steady(ctx, span)
			mu.Lock()
			defer mu.Unlock()
			if n += done; failed != nil {
				err = failed
			}
		})
	}
	all.Wait()
	return n, err
}

// steady is one producer. What it is late with, it does not skip.
func (s *session) steady(ctx context.Context, span time.Duration) (n int, err error) {
	gap := time.Second * longProducers / time.Duration(s.b.rate)
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	}()
	for next, end := time.Now(), time.Now().Add(span); next.Before(end); next = next.Add(gap) {
		time.Sleep(time.Until(next))
		if err := again(ctx, func() (err error) {
			if conn == nil || conn.IsClosed() {
				if conn, err = pgx.Connect(ctx, s.db.url); err != nil {
					return err
				}
			}
			_, err = conn.Exec(ctx, s.insertOne(), "other 1ms")
			return err
		}); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// again repeats what a server that is away refuses, for up to a minute.
func again(ctx context.Context, do func() error) (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; wait(ctx, 20*time.Millisecond) {
		if err = do(); err == nil {
			return nil
		}
	}
	return err
}

// look repeats a look at the database, on another connection if the session's is lost.
func (s *session) look(ctx context.Context, do func() error) error {
	return again(ctx, func() error {
		if s.conn.IsClosed() {
			conn, err := pgx.Connect(ctx, s.db.url)
			if err != nil {
				return err
			}
			s.conn = conn
		}
		return do()
	})
}

// holdSnapshot keeps what an old transaction sees.
func holdSnapshot(ctx context.Context, s *session) error {
	conn, err := pgx.Connect(ctx, s.db.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	name, _ := s.table()
	if _, err := conn.Exec(ctx, "begin isolation level repeatable read; select count(*) from "+name); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// readQueue reads the whole table again and again, on two connections.
func readQueue(ctx context.Context, s *session) error {
	name, _ := s.table()
	var all sync.WaitGroup
	var failed [2]error
	for i := range failed {
		all.Go(func() {
			conn, err := pgx.Connect(ctx, s.db.url)
			if err != nil {
				failed[i] = err
				return
			}
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			for ctx.Err() == nil {
				if _, err := conn.Exec(ctx, "select state, count(*) from "+name+" group by state"); err != nil && ctx.Err() == nil {
					failed[i] = err
					return
				}
				wait(ctx, 200*time.Millisecond)
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// killInstance kills the instance ten times in the phase, and starts it again.
func killInstance(ctx context.Context, s *session) error {
	p, is := s.contender.(*bellhop)
	for is && wait(ctx, s.b.span/10) {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // how it ended is known
		if err := p.join(); err != nil {
			return err
		}
		p.cmd, p.more = p.more[0], p.more[1:]
	}
	return nil
}

// restartServer restarts PostgreSQL three times in the phase.
func restartServer(ctx context.Context, s *session) error {
	for wait(ctx, s.b.span/4) {
		if err := s.b.cluster.Restart(ctx, "fast"); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// wait gives whether ctx lives on after so long.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
