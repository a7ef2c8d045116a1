package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// grown makes a database with bellhop's schema and many rows, once, as the
// template of those that are measured. It stays until the server goes.
func (b *bench) grown(ctx context.Context, name, rows string) (template string, err error) {
	if b.templates[name] != "" {
		return b.templates[name], nil
	}
	db, err := b.filled(ctx, name, rows)
	if err != nil {
		return "", err
	}
	// A copy is refused while any session, autovacuum included, is connected.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var busy int
		if err := b.ask(ctx, "select count(*) from pg_stat_activity where datname = $1", &busy, db.name); err != nil {
			return "", err
		}
		if busy == 0 {
			break
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%s still has connections", db.name)
		}
	}
	b.templates[name] = db.name
	return db.name, nil
}

// filled makes a database with bellhop's schema and many rows.
func (b *bench) filled(ctx context.Context, name, rows string) (*database, error) {
	b.say("    filling a table: %s", name)
	db, err := b.database(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := b.migrate(ctx, b.binary, db.url); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{rows, "vacuum analyze"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			_ = conn.Close(ctx)
			return nil, err
		}
	}
	return db, conn.Close(ctx)
}

// ask runs one query on the server's own database.
func (b *bench) ask(ctx context.Context, query string, result any, args ...any) error {
	conn, err := pgx.Connect(ctx, b.cluster.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.QueryRow(ctx, query, args...).Scan(result)
}

// growth is one way for a system to be large. It is measured as bellhop
// under label.
type growth struct {
	row      string // the measure's name begins with it
	label    string
	template string // empty: an empty table
	make     func() *bellhop
	// warm is done before anything is measured, may be nil.
	warm func(ctx context.Context, s *session) error
	// insert submits one job, fill many; nil: of type noop.
	insert func(ctx context.Context, s *session, line string) error
	fill   func(ctx context.Context, s *session, n int) error
	// after is asked at the end, may be nil.
	after func(ctx context.Context, s *session) error
}

// step takes latency, drain and plan of a growth.
func (g growth) step(ctx context.Context, b *bench, round int) func() error {
	return func() error {
		db, err := b.database(ctx, g.template)
		if err != nil {
			return err
		}
		c := g.make()
		c.label = g.label
		return b.in(ctx, db, c, options{}, func(s *session) error {
			if g.warm != nil {
				if err := g.warm(ctx, s); err != nil {
					return err
				}
			}
			insert := func(line string) error { return s.insert(ctx, line) }
			if g.insert != nil {
				insert = func(line string) error { return g.insert(ctx, s, line) }
			}
			if _, _, err := s.sampleBy(ctx, warmSamples, insert); err != nil {
				return err
			}
			if err := s.vacuum(ctx); err != nil {
				return err
			}
			before, err := s.sequentialScans(ctx)
			if err != nil {
				return err
			}
			issued, acked, err := s.sampleBy(ctx, b.length(150, 500), insert)
			if err != nil {
				return err
			}
			b.note(round, g.row+": issued → agent, p50", g.label, percentile(issued, 0.5), "ms")
			b.note(round, g.row+": issued → agent, p99", g.label, percentile(issued, 0.99), "ms")
			b.note(round, g.row+": commit → agent, p50", g.label, percentile(acked, 0.5), "ms")
			if err := g.drain(ctx, b, round, s); err != nil {
				return err
			}
			after, err := s.sequentialScans(ctx)
			if err != nil {
				return err
			}
			if g.template != "" { // reading all of a small table is right
				b.note(round, g.row+": scans of the whole queue", g.label, float64(after-before), "")
			}
			if err := s.claimPlan(ctx); err != nil {
				return err
			}
			if g.after != nil {
				return g.after(ctx, s)
			}
			return nil
		})
	}
}

func (g growth) drain(ctx context.Context, b *bench, round int, s *session) error {
	const n = 50_000
	fill := func(n int) error { return s.fill(ctx, n) }
	if g.fill != nil {
		fill = func(n int) error { return g.fill(ctx, s, n) }
	}
	var began time.Time
	for _, n := range []int{2000, n} { // the first warms
		if err := fill(n); err != nil {
			return err
		}
		began = time.Now()
		if err := s.settle(ctx, 5*time.Minute); err != nil {
			return err
		}
	}
	b.note(round, g.row+": drain of 50,000", g.label, n/time.Since(began).Seconds(), "jobs/s")
	return nil
}
