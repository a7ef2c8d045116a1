package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// measureServer compares what a job costs the server with what it costs under
// another binary (-before): the processor time of the connection that claims
// and of the one that records, and the bytes of WAL, while a backlog is worked
// off; a claim of one job at a time; and the INSERT. Processor time, since it
// is less disturbed by what else the machine does than the clock is.
func measureServer(ctx context.Context, b *bench, round int) error {
	jobs, ready, single := b.length(30_000, 100_000), b.length(0, 1_000_000), b.length(100, 300)
	binaries := b.both()
	var steps []func() error
	for i := range binaries {
		c := &binaries[i]
		steps = append(steps, func() error {
			return b.with(ctx, c, options{}, func(s *session) error {
				note := func(what string, value float64, unit string) {
					b.note(round, "server: "+what, c.name(), value, unit)
				}
				if err := s.fill(ctx, 2000); err != nil {
					return err
				}
				if err := s.settle(ctx, time.Minute); err != nil {
					return err
				}
				if ready > 0 { // of a type without an agent
					if _, err := s.conn.Exec(ctx, "insert into bellhop.jobqueue (type, args) select 'other', g::text from generate_series(1, $1::int) g", ready); err != nil {
						return err
					}
				}
				if err := s.vacuum(ctx); err != nil {
					return err
				}
				if err := s.costOfBacklog(ctx, jobs, note); err != nil {
					return err
				}
				if err := s.costOfSingle(ctx, single, note); err != nil {
					return err
				}
				if ready > 0 {
					s.uncounted = true
					return nil
				}
				return s.check(ctx)
			})
		})
	}
	return inTurn(round, steps...)
}

// costOfBacklog is per job of many that wait. Their INSERT is one statement.
func (s *session) costOfBacklog(ctx context.Context, n int, note func(string, float64, string)) error {
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	before, err := s.spent(ctx, tx.Conn())
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, s.insertMany(), n); err != nil {
		return err
	}
	s.done += int64(n)
	filled, err := s.spent(ctx, tx.Conn())
	if err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx, 5*time.Minute); err != nil {
		return err
	}
	after, err := s.spent(ctx, s.conn)
	if err != nil {
		return err
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	note("INSERT, CPU a row of one statement", each(filled.own-before.own), "µs")
	note("INSERT, WAL a row", float64(filled.wal-before.wal)/float64(n), "B")
	note("backlog, claim, CPU a job", each(after.claims-filled.claims), "µs")
	note("backlog, outcome, CPU a job", each(after.outcomes-filled.outcomes), "µs")
	note("backlog, claim and outcome, CPU a job", each(after.claims+after.outcomes-filled.claims-filled.outcomes), "µs")
	note("backlog, claim and outcome, WAL a job", float64(after.wal-filled.wal)/float64(n), "B")
	return nil
}

// costOfSingle is per job of such as come alone, into an idle queue.
func (s *session) costOfSingle(ctx context.Context, n int, note func(string, float64, string)) error {
	if _, _, err := s.sample(ctx, warmSamples); err != nil {
		return err
	}
	before, err := s.spent(ctx, s.conn)
	if err != nil {
		return err
	}
	_, acked, err := s.sample(ctx, n)
	if err != nil {
		return err
	}
	if err := s.settle(ctx, time.Minute); err != nil {
		return err
	}
	after, err := s.spent(ctx, s.conn)
	if err != nil {
		return err
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	note("one at a time, claim, CPU", each(after.claims-before.claims), "µs")
	note("one at a time, outcome, CPU", each(after.outcomes-before.outcomes), "µs")
	note("one at a time, commit → agent, p50", percentile(acked, 0.5)*1000, "µs")
	return nil
}

// spending is what the connections of a program have cost the server so far.
type spending struct {
	claims, outcomes, own time.Duration
	wal                   int64
}

func (s *session) spent(ctx context.Context, conn *pgx.Conn) (sp spending, err error) {
	rows, err := conn.Query(ctx, `select pid, case when pid = pg_backend_pid() then 'own' else application_name end,
		pg_current_wal_insert_lsn() - '0/0' from pg_stat_activity
		where datname = current_database() and (pid = pg_backend_pid() or application_name in ('bellhop claimer', 'bellhop recorder'))`)
	if err != nil {
		return sp, err
	}
	var pid int
	var name string
	_, err = pgx.ForEachRow(rows, []any{&pid, &name, &sp.wal}, func() error {
		used, err := cpuTime(pid)
		switch name {
		case "own":
			sp.own = used
		case "bellhop claimer":
			sp.claims = used
		default:
			sp.outcomes = used
		}
		return err
	})
	return sp, err
}

// programBefore is what the binary of -before is called in the report.
const programBefore = "bellhop, before"
