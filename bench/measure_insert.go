package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	rowsFull    = "one insert per transaction, every child at work, %d connections"
	rowsWorking = "one insert per transaction, the scheduler works them off, %d connections"
)

// measureInsert counts one-row transactions a second of several connections.
// Busy is measured twice. "Every child at work": a long job is in the hands of
// every child, so that what it costs to submit is all that is measured; this is
// what a plain insert can be compared with. "Works them off": on the same
// cores, so that a good part is the price of the work.
func measureInsert(ctx context.Context, b *bench, round int) error {
	conns := []int{16}
	if b.full {
		conns = []int{16, 4, 1}
	}
	const insert = "insert into bellhop.jobqueue (type, args) values ('noop', $1)"
	// bare is bellhop's table with no scheduler, and arranged by a statement.
	bare := func(name, arrange string) func() error {
		return func() error {
			return b.bare(ctx, func(db *database, conn *pgx.Conn) error {
				if err := b.migrate(ctx, b.binary, db.url); err != nil {
					return err
				}
				if _, err := conn.Exec(ctx, arrange); err != nil {
					return err
				}
				hearing, deaf := context.WithCancel(ctx)
				var listener sync.WaitGroup
				listener.Go(func() { // a listener reads
					for hearing.Err() == nil {
						_, _ = conn.WaitForNotification(hearing) // none comes where nothing rings
					}
				})
				defer listener.Wait()
				defer deaf()
				for _, n := range conns {
					rate, _, err := b.produce(ctx, n, sqlProducer(db.url, insert))
					if err != nil {
						return err
					}
					b.note(round, fmt.Sprintf(rowsFull, n), name, rate, "inserts/s")
				}
				return nil
			})
		}
	}
	// full gives every child something to do for as long as this takes.
	full := func(c contender, slots int, producer func(*session) makeProducer) func() error {
		return func() error {
			return b.with(ctx, c, options{}, func(s *session) error {
				s.uncounted = true
				if err := s.occupy(ctx, slots); err != nil {
					return err
				}
				for _, n := range conns {
					rate, _, err := b.produce(ctx, n, producer(s))
					if err != nil {
						return err
					}
					b.note(round, fmt.Sprintf(rowsFull, n), c.name(), rate, "inserts/s")
				}
				return nil
			})
		}
	}
	working := func(c contender, producer func(*session) makeProducer) func() error {
		return func() error {
			return b.with(ctx, c, options{Drain: true}, func(s *session) error {
				rate, n, err := b.produce(ctx, 16, producer(s))
				if err != nil {
					return err
				}
				s.done += n
				b.note(round, fmt.Sprintf(rowsWorking, 16), c.name(), rate, "inserts/s")
				if err := s.settle(ctx, 2*time.Minute); err != nil {
					return err
				}
				return s.check(ctx)
			})
		}
	}
	bySQL := func(s *session) makeProducer { return sqlProducer(s.db.url, s.insertOne()) }
	best := &river{b: b, best: true}
	return inTurn(round,
		bare("plain", "alter table bellhop.jobqueue disable trigger user"),
		bare("notifying trigger", `alter table bellhop.jobqueue disable trigger user;
			create function ring_plainly() returns trigger language plpgsql as $$ begin perform pg_notify('bench', ''); return null; end $$;
			create trigger ring_plainly after insert on bellhop.jobqueue for each statement execute function ring_plainly();
			listen bench`),
		full(&bellhop{b: b}, defaultSlots(), bySQL),
		full(best, 100, riverClient),
		working(&bellhop{b: b}, bySQL),
		working(best, riverClient))
}

// occupy puts a job that does not end into the hands of each of n children (or
// handlers). Slow ones come first, so that all are up, and known not to take
// several lines at once.
func (s *session) occupy(ctx context.Context, n int) error {
	for range 4 * n {
		if err := s.insert(ctx, "h 20ms"); err != nil {
			return err
		}
	}
	if err := s.settle(ctx, time.Minute); err != nil {
		return err
	}
	for i := range n {
		if err := s.insert(ctx, fmt.Sprintf("t%d 1h", i)); err != nil {
			return err
		}
	}
	_, err := s.receipts(n, 30*time.Second)
	return err
}

// makeProducer opens what n goroutines insert through; insert is called by
// each of them with its number.
type makeProducer func(ctx context.Context, n int) (insert func(who int) error, end func(), err error)

func sqlProducer(url, statement string) makeProducer {
	return func(ctx context.Context, n int) (func(int) error, func(), error) {
		conns := make([]*pgx.Conn, n)
		end := func() {
			for _, c := range conns {
				if c != nil {
					_ = c.Close(ctx)
				}
			}
		}
		for i := range conns {
			var err error
			if conns[i], err = pgx.Connect(ctx, url); err != nil {
				end()
				return nil, nil, err
			}
		}
		return func(who int) error {
			_, err := conns[who].Exec(ctx, statement, "x")
			return err
		}, end, nil
	}
}

// riverClient inserts as River's users do: its client notifies by itself.
func riverClient(s *session) makeProducer {
	return func(ctx context.Context, n int) (func(int) error, func(), error) {
		if _, err := s.conn.Exec(ctx, "drop trigger if exists bench_ring on river_job"); err != nil {
			return nil, nil, err
		}
		client, pool, err := riverProducer(ctx, s.db.url, n)
		if err != nil {
			return nil, nil, err
		}
		return func(int) error {
			_, err := client.Insert(ctx, noopArgs{Line: "x"}, nil)
			return err
		}, pool.Close, nil
	}
}

// produce lets n goroutines insert for a while, and gives how many a second
// after the warm-up, and how many in all.
func (b *bench) produce(ctx context.Context, n int, open makeProducer) (rate float64, total int64, err error) {
	insert, end, err := open(ctx, n)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	var count atomic.Int64
	var stop atomic.Bool
	failed := make(chan error, n)
	var all sync.WaitGroup
	for who := range n {
		all.Go(func() {
			for !stop.Load() {
				if err := insert(who); err != nil {
					failed <- err
					return
				}
				count.Add(1)
			}
		})
	}
	time.Sleep(300 * time.Millisecond) // warm: statements prepared, the table's first pages there
	before, began := count.Load(), time.Now()
	time.Sleep(time.Duration(b.length(1000, 4000)) * time.Millisecond)
	rate = float64(count.Load()-before) / time.Since(began).Seconds()
	stop.Store(true)
	all.Wait()
	select {
	case err = <-failed:
	default:
	}
	return rate, count.Load(), err
}
