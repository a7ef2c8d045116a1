package main

import (
	"context"
	"fmt"
	"time"

	"bellhop/bench/receipt"
)

// Rows of what attached tables cost.
const (
	attachedRows   = "%d rows of /bin/true, a pool of %d"
	attachedPickUp = "attached table at rest, INSERT issued → agent has the row, p50"
)

// attachedPool is the pool of the compared table, and the slots of the host of all three.
const attachedPool = 10

// measureAttach compares the rows of an attached table with as many jobs and with as many items of one query: a process
// (/bin/true) each, as many at once. Into tables at rest it then writes one row at a time, beside one job at a time.
func measureAttach(ctx context.Context, b *bench, round int) error {
	var steps []func() error
	for _, n := range []int{2000, b.length(6000, 20_000)} {
		row := fmt.Sprintf(attachedRows, n, attachedPool)
		for name, way := range map[string]func(context.Context, *session, int) error{
			"bellhop": attachedWay, "jobs": jobsWay, "MSQ": itemsWay,
		} {
			steps = append(steps, func() error {
				return b.with(ctx, &bellhop{b: b, slots: attachedPool}, options{Exec: true}, func(s *session) error {
					began := time.Now()
					if err := way(ctx, s, n); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					b.note(round, row, name, float64(n)/time.Since(began).Seconds(), "rows/s")
					return nil
				})
			})
		}
	}
	return inTurn(round, append(steps, func() error { return b.restingTable(ctx, round) })...)
}

// attach makes a table of n rows, each of which asks to be run; how says by what.
func (s *session) attach(ctx context.Context, n int, how string) error {
	if _, err := s.conn.Exec(ctx, "create table image (id bigint primary key, dispatch timestamptz)"); err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "insert into image select generate_series(1, $1::int)", n); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, "select bellhop.attach('image', pool => $1, "+how+")", attachedPool)
	return err
}

func attachedWay(ctx context.Context, s *session, n int) error {
	if err := s.attach(ctx, n, "cmd => '{/bin/true}'"); err != nil {
		return err
	}
	return s.ended(ctx, "select count(*) from bellhop.jobqueue where type = 'attachment' and state = 'succeeded'", n)
}

func jobsWay(ctx context.Context, s *session, n int) error {
	if err := s.fill(ctx, n); err != nil {
		return err
	}
	return s.settle(ctx, 10*time.Minute)
}

func itemsWay(ctx context.Context, s *session, n int) error {
	var id int64
	if err := s.conn.QueryRow(ctx, "insert into bellhop.jobqueue (type, msq) values ('noop', $1) returning id",
		fmt.Sprintf("select g as id from generate_series(1, %d) g", n)).Scan(&id); err != nil {
		return err
	}
	return s.ended(ctx, fmt.Sprintf(
		"select coalesce(sum(items_done), 0) from bellhop.jobqueue where id = %d and state = 'succeeded'", id), n)
}

// ended waits until a count is n, and looks rarely enough to take little of what it measures.
func (s *session) ended(ctx context.Context, count string, n int) error {
	for deadline := time.Now().Add(10 * time.Minute); ; {
		began := time.Now()
		var is int
		if err := s.conn.QueryRow(ctx, count).Scan(&is); err != nil {
			return err
		}
		if is >= n {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d have ended after 10 minutes", is, n)
		}
		time.Sleep(max(10*time.Millisecond, 20*time.Since(began)))
	}
}

// restingTable writes one row at a time into an attached table whose rows all ran, beside one job at a time.
func (b *bench) restingTable(ctx context.Context, round int) error {
	n := b.length(60, 300)
	return b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error {
		if err := s.attach(ctx, 0, "type => 'noop'"); err != nil {
			return err
		}
		issued, _, err := s.sample(ctx, n)
		if err != nil {
			return err
		}
		b.note(round, attachedPickUp, "jobs", percentile(issued, 0.5), "ms")
		took := make([]float64, 0, n)
		for id := range n {
			before, err := receipt.Total(s.notes)
			if err != nil {
				return err
			}
			began := receipt.Monotonic()
			if _, err := s.conn.Exec(ctx, "insert into image values ($1)", id); err != nil {
				return err
			}
			s.done++
			for {
				total, err := receipt.Total(s.notes)
				if err != nil {
					return err
				}
				if total > before {
					break
				}
				if time.Duration(receipt.Monotonic()-began) > 30*time.Second {
					return fmt.Errorf("row %d reached no agent within 30 s", id)
				}
				time.Sleep(50 * time.Microsecond)
			}
			took = append(took, float64(receipt.Monotonic()-began)/1e6)
			time.Sleep(20 * time.Millisecond) // its outcome is written, and the turn after it is over
		}
		b.note(round, attachedPickUp, "bellhop", percentile(took, 0.5), "ms")
		return nil
	})
}
