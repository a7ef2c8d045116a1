package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/bench/receipt"
)

// database is one of its own for one measurement; drop takes it away again, so
// that every measurement finds the same server.
type database struct {
	b    *bench
	name string
	url  string
}

func (b *bench) database(ctx context.Context, template string) (*database, error) {
	b.dbs++
	d := &database{b: b, name: fmt.Sprintf("bench%d", b.dbs)}
	var err error
	d.url, err = b.cluster.NewDatabase(ctx, d.name, template)
	return d, err
}

func (d *database) drop(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.b.cluster.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "drop database "+d.name+" with (force)")
	return err
}

// session is a contender at work in a database, and a connection to give it
// work and look at it.
type session struct {
	contender
	b     *bench
	db    *database
	conn  *pgx.Conn
	notes string
	done  int64 // lines that must have come
	blind bool  // the work is no agent of ours, which would count it
	// uncounted: what waits at the end may still begin while it stops.
	uncounted bool
}

// with runs f beside a contender that has been warmed with one job, in a fresh
// database, and checks afterwards that every line came exactly once.
func (b *bench) with(ctx context.Context, c contender, o options, f func(*session) error) error {
	db, err := b.database(ctx, "")
	if err != nil {
		return err
	}
	return b.in(ctx, db, c, o, f)
}

// in is with, in a database that is there.
func (b *bench) in(ctx context.Context, db *database, c contender, o options, f func(*session) error) (err error) {
	defer func() {
		if dropErr := db.drop(ctx); err == nil {
			err = dropErr
		}
	}()
	return b.on(ctx, db, c, o, f)
}

// on is in, and leaves the database.
func (b *bench) on(ctx context.Context, db *database, c contender, o options, f func(*session) error) (err error) {
	s := &session{contender: c, b: b, db: db, blind: o.Exec}
	if s.notes, err = os.MkdirTemp(b.tmp, "notes"); err != nil {
		return err
	}
	if err := os.Chmod(s.notes, 0o777); err != nil {
		return err
	}
	o.Notes = s.notes
	if err := c.start(ctx, db.url, o); err != nil {
		return fmt.Errorf("%s: %w", c.name(), err)
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = c.stop()
		}
		_ = os.RemoveAll(s.notes)
		if err != nil {
			err = fmt.Errorf("%s: %w", c.name(), err)
		}
	}()
	if s.conn, err = pgx.Connect(ctx, db.url); err != nil {
		return err
	}
	defer func() { _ = s.conn.Close(ctx) }()
	// Our own looks walk the partial indexes whatever the statistics say. That makes them look so dear to the planner that
	// it would compile them, which takes a processor for 0.1 s.
	if _, err := s.conn.Exec(ctx, "set enable_seqscan = off; set jit = off"); err != nil {
		return err
	}
	if err := s.insert(ctx, "warm"); err != nil {
		return err
	}
	if err := s.settle(ctx, 30*time.Second); err != nil {
		return err
	}
	if err := f(s); err != nil {
		return err
	}
	stopped = true
	if err := c.stop(); err != nil {
		return err
	}
	if s.blind || s.uncounted {
		return nil
	}
	total, err := receipt.Total(s.notes)
	if err != nil {
		return err
	}
	if total != s.done {
		return fmt.Errorf("%d lines reached an agent, not %d", total, s.done)
	}
	return nil
}

func (s *session) insert(ctx context.Context, line string) error {
	_, err := s.conn.Exec(ctx, s.insertOne(), line)
	s.done++
	return err
}

func (s *session) fill(ctx context.Context, n int) error {
	_, err := s.conn.Exec(ctx, s.insertMany(), n)
	s.done += int64(n)
	return err
}

// settle waits until nothing is left to do: first, without a look at the database, until every line has reached an
// agent, then until every outcome is recorded. (A constant query of an index of waiting jobs walks over the dead
// entries of those that are done, and takes a third of a core from the measured program.)
func (s *session) settle(ctx context.Context, within time.Duration) error {
	deadline := time.Now().Add(within)
	for !s.blind && time.Now().Before(deadline) && ctx.Err() == nil {
		began := time.Now()
		total, err := receipt.Total(s.notes)
		if err != nil {
			return err
		}
		if total >= s.done {
			break
		}
		time.Sleep(max(2*time.Millisecond, 10*time.Since(began)))
	}
	start, most := time.Now(), 0
	for {
		var left int
		if err := s.conn.QueryRow(ctx, s.left()).Scan(&left); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("jobs are still not done after %s", within)
		}
		most = max(most, left)
		time.Sleep(untilLook(most, left, time.Since(start)))
	}
}

// check asserts that every row is done, once.
func (s *session) check(ctx context.Context) error {
	var bad int
	if err := s.conn.QueryRow(ctx, s.bad()).Scan(&bad); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d jobs were not done exactly once", bad)
	}
	return nil
}

// vacuum brings the tables to rest, the same for all.
func (s *session) vacuum(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, "vacuum analyze")
	return err
}

// drain gives how many of n waiting jobs are done a second: from the commit
// that makes them visible until none is left.
func (s *session) drain(ctx context.Context, n int) (rate float64, err error) {
	if err := s.fill(ctx, n); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.settle(ctx, 10*time.Minute); err != nil {
		return 0, err
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// sample gives, for n jobs inserted one at a time at random gaps, how many ms
// passed until the agent had the line: since the INSERT was issued, and since
// its commit was acknowledged.
func (s *session) sample(ctx context.Context, n int) (issued, acked []float64, err error) {
	return s.sampleBy(ctx, n, func(line string) error { return s.insert(ctx, line) })
}

func (s *session) sampleBy(
	ctx context.Context, n int, insert func(line string) error,
) (issued, acked []float64, err error) {
	before, err := receipt.Notes(s.notes)
	if err != nil {
		return nil, nil, err
	}
	t0, t1 := make([]int64, n), make([]int64, n)
	for i := range n {
		line := "t" + strconv.Itoa(before+i)
		t0[i] = receipt.Monotonic()
		if err := insert(line); err != nil {
			return nil, nil, err
		}
		t1[i] = receipt.Monotonic()
		// Long enough for the queue to be idle again, and never in step with a poll.
		time.Sleep(5*time.Millisecond + rand.N(20*time.Millisecond))
	}
	got, err := s.receipts(before+n, 60*time.Second)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		at, ok := got["t"+strconv.Itoa(before+i)]
		if !ok {
			return nil, nil, fmt.Errorf("job t%d never reached an agent", before+i)
		}
		issued = append(issued, float64(at-t0[i])/1e6)
		acked = append(acked, float64(at-t1[i])/1e6)
	}
	return issued, acked, nil
}

// receipts waits until n timed lines were noted in all.
func (s *session) receipts(n int, within time.Duration) (map[string]int64, error) {
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		there, err := receipt.Notes(s.notes)
		if err != nil {
			return nil, err
		}
		if there >= n {
			return receipt.Read(s.notes)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d of %d timed lines reached an agent within %s: see %s", there, n, within,
				filepath.Base(s.notes))
		}
	}
}
