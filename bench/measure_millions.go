package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// What a queue shows that has kept jobs for a month; by how many have finished.
const (
	millionsInsert  = "%d M finished rows: one insert per transaction, 16 connections"
	millionsPickUp  = "%d M finished rows: issued → agent, p50"
	millionsDrain   = "%d M finished rows: drain of 50,000"
	millionsSlowest = "%d M finished rows: first byte of the slowest page ÷ the same with 1,000 rows"
	millionsExplain = "%d M finished rows: explain, the whole command"
	millionsPrune   = "%d M finished rows: prune"
	millionsVacuum  = "%d M finished rows: VACUUM after that, for each row that prune deleted"
	millionsSpace   = "%d M finished rows: table and indexes, a row"
	millionsDays    = 30 // over which the jobs ended
)

// millionsPages are asked for in turn; those that search finished jobs are left out.
var millionsPages = append([]string{
	"/jobs/500", "/jobs/500/graph", "/workflows", "/jobs?state=ready", "/jobs?type=later", "/api/v1/jobs?limit=50",
	"/api/v1/types", "/failures?within=1h",
}, webPages...)

// measureMillions compares a table with many million finished rows, and half as many waiting ones, with an empty one.
func measureMillions(ctx context.Context, b *bench, round int) error {
	few, err := b.grown(ctx, webFew, webFill(900))
	if err != nil {
		return err
	}
	empty := func() error {
		db, err := b.database(ctx, "")
		if err != nil {
			return err
		}
		return b.millionsIn(ctx, db, "bellhop, empty table", few, func(s *session, _, _ *site) error {
			return s.millionsWork(ctx, round)
		})
	}
	many := func() error {
		// The database itself, no copy: a copy takes minutes, too.
		db, err := b.filled(ctx, fmt.Sprintf("%d million rows", b.millions*3/2), millionsFill(b.millions*1_000_000))
		if err != nil {
			return err
		}
		return b.millionsIn(ctx, db, "bellhop", few, func(s *session, pages, small *site) error {
			for _, take := range []func(context.Context, int) error{
				s.millionsSpace, s.millionsWork, s.millionsExplain, s.millionsPrune,
			} {
				if err := take(ctx, round); err != nil {
					return err
				}
			}
			return s.millionsPages(ctx, round, pages, small)
		})
	}
	return inTurn(round, empty, many)
}

// millionsFill makes finished rows, of which one in a hundred failed, and half as many that wait for an agent.
func millionsFill(n int) string {
	return fmt.Sprintf(`
		set session_replication_role = replica; -- without a ring
		insert into bellhop.jobqueue (type, args, key, state, attempt, fence, host, child,
		       created_at, started_at, ended_at, exit_code, error)
		select 'noop', g::text, 'order.' || g, case when g %% 100 = 0 then 'failed' else 'succeeded' end, 1, 1, 'local',
		       'noop.1', at, at, at, (g %% 100 = 0)::int, case when g %% 100 = 0 then 'exit status 1: disk ' || g %% 7 end
		  from generate_series(1, %[1]d) g, lateral (select clock_timestamp()
		       - interval '%[2]d days' * (1 - g / %[1]d.0)) t (at);
		insert into bellhop.jobqueue (type, args) select 'later', g::text from generate_series(1, %[1]d / 2) g`,
		n, millionsDays)
}

// millionsIn runs f beside a bellhop, and beside the pages of a small queue.
func (b *bench) millionsIn(
	ctx context.Context, db *database, label, few string, f func(s *session, pages, small *site) error,
) error {
	at, err := freeAddress()
	if err != nil {
		return err
	}
	return b.in(ctx, db, &bellhop{b: b, label: label, listen: at}, options{Drain: true}, func(s *session) error {
		s.uncounted = true // the producers' own are counted by the table
		pages := newSite(at)
		defer pages.client.CloseIdleConnections()
		return b.withSite(ctx, few, webFew, func(_ *session, small *site) error { return f(s, pages, small) })
	})
}

// millionsWork takes INSERT, pick-up and drain.
func (s *session) millionsWork(ctx context.Context, round int) error {
	n := s.b.millions
	issued, _, err := s.sample(ctx, s.b.length(200, 500))
	if err != nil {
		return err
	}
	s.b.note(round, fmt.Sprintf(millionsPickUp, n), s.name(), percentile(issued, 0.5), "ms")
	for _, jobs := range []int{2000, 50_000} { // the first warms
		rate, err := s.drain(ctx, jobs)
		if err != nil {
			return err
		}
		if jobs == 50_000 {
			s.b.note(round, fmt.Sprintf(millionsDrain, n), s.name(), rate, "jobs/s")
		}
	}
	rate, _, err := s.b.produce(ctx, 16, sqlProducer(s.db.url, "insert into bellhop.jobqueue (type, args) values ('later', $1)"))
	if err != nil {
		return err
	}
	s.b.note(round, fmt.Sprintf(millionsInsert, n), s.name(), rate, "inserts/s")
	return nil
}

// millionsSpace is what a row takes on the disk.
func (s *session) millionsSpace(ctx context.Context, round int) error {
	var bytes float64
	if err := s.conn.QueryRow(ctx, `select pg_total_relation_size('bellhop.jobqueue') / reltuples from pg_class
		where oid = 'bellhop.jobqueue'::regclass`).Scan(&bytes); err != nil {
		return err
	}
	s.b.note(round, fmt.Sprintf(millionsSpace, s.b.millions), s.name(), bytes, "B")
	return nil
}

// millionsExplain asks why the last of the waiting jobs waits.
func (s *session) millionsExplain(ctx context.Context, round int) error {
	var id string
	if err := s.conn.QueryRow(ctx, "select max(id)::text from bellhop.jobqueue where type = 'later'").Scan(&id); err != nil {
		return err
	}
	var took []float64
	for range 5 {
		began := time.Now()
		out, err := exec.CommandContext(ctx, s.b.binary, "explain", id, "--database-url", s.db.url).CombinedOutput()
		if err != nil {
			return fmt.Errorf("explain: %w: %s", err, out)
		}
		took = append(took, time.Since(began).Seconds()*1000)
	}
	s.b.note(round, fmt.Sprintf(millionsExplain, s.b.millions), s.name(), percentile(took, 0.5), "ms")
	return nil
}

// millionsPrune deletes the first three days, and lets VACUUM clean up.
func (s *session) millionsPrune(ctx context.Context, round int) error {
	count := func() (n float64, err error) {
		err = s.conn.QueryRow(ctx, "select count(*) from bellhop.jobqueue").Scan(&n)
		return n, err
	}
	before, err := count()
	if err != nil {
		return err
	}
	began := time.Now()
	if out, err := exec.CommandContext(ctx, s.b.binary, "prune", "--older-than", fmt.Sprintf("%dd", millionsDays-3), "--yes",
		"--database-url", s.db.url).CombinedOutput(); err != nil {
		return fmt.Errorf("prune: %w: %s", err, out)
	}
	took := time.Since(began)
	after, err := count()
	if err != nil {
		return err
	}
	s.b.note(round, fmt.Sprintf(millionsPrune, s.b.millions), s.name(), (before-after)/took.Seconds(), "jobs/s")
	began = time.Now()
	if _, err := s.conn.Exec(ctx, "vacuum bellhop.jobqueue"); err != nil {
		return err
	}
	s.b.note(round, fmt.Sprintf(millionsVacuum, s.b.millions), s.name(), time.Since(began).Seconds()*1e6/(before-after), "µs")
	return nil
}

// millionsPages asks for each page of the large queue and of a small one, in turn.
func (s *session) millionsPages(ctx context.Context, round int, large, small *site) error {
	var ratios []float64
	for _, path := range millionsPages {
		_, l, f, err := s.b.besides(ctx, path, large, small)
		if err != nil {
			return err
		}
		ratios = append(ratios, l/f)
	}
	s.b.note(round, fmt.Sprintf(millionsSlowest, s.b.millions), s.name(), slices.Max(ratios), "×")
	return nil
}
