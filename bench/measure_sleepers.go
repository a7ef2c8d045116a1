package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/bench/receipt"
)

// Jobs that sleep or await an event: what they cost an idle instance, and how late they wake. There are 100,000 in the
// short form, and a million in the long one.
const (
	sleepStatements = "jobs asleep, idle: statements a minute"
	sleepCPU        = "jobs asleep, idle: CPU of the scheduler"
	wakeByTime      = "jobs asleep: the time → the agent has the line, "
	wakeByEvent     = "jobs asleep: emit committed → the agent has the line, "
	noneAsleep      = "bellhop, none asleep"
)

func measureSleepers(ctx context.Context, b *bench, round int) error {
	part := func(label string, n int) func() error {
		return func() error {
			return b.counting(ctx, func(counts *pgx.Conn) error {
				return b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error {
					s.uncounted = true // those that sleep on
					if err := s.asleep(ctx, n); err != nil {
						return err
					}
					if err := b.restsWith(ctx, counts, s, round, label); err != nil {
						return err
					}
					if err := s.wakeByTime(ctx, round, label); err != nil {
						return err
					}
					return s.wakeByEvent(ctx, round, label)
				})
			})
		}
	}
	return inTurn(round, part(noneAsleep, 0), part("bellhop", b.length(100_000, 1_000_000)))
}

// sleeper is how bellhop.rest leaves a job that sleeps, or awaits an event.
const sleeper = `with j as (
	insert into bellhop.jobqueue (type, args, state, started_at, run_at, stepped, waiting_for)
	select 'noop', args, 'scheduled', clock_timestamp(), until, true, coalesce('awaits_event: ' || event, 'sleeps') from sleepers
	returning id, args, run_at, waiting_for
), k as (
	insert into bellhop.saved_step (job, name, output, bytes)
	select id, 'sleep.1', jsonb_build_object('until', run_at), 50 from j where waiting_for = 'sleeps'
)
insert into bellhop.awaits (job, event, until, counted)
select id, substr(waiting_for, 15), run_at, true from j where waiting_for <> 'sleeps'`

// asleep makes n jobs that do not wake for a month: half of them sleep, and half await an event each.
func (s *session) asleep(ctx context.Context, n int) error {
	if _, err := s.conn.Exec(ctx, "create temp table sleepers (args text, until timestamptz, event text)"); err != nil {
		return err
	}
	if err := s.rest(ctx, `select 'x', clock_timestamp() + interval '30 days' + g * interval '1 second',
		case when g % 2 = 0 then 'never.' || g end from generate_series(1, $1::int) g`, n); err != nil {
		return err
	}
	return s.vacuum(ctx)
}

// rest makes the jobs that a query names.
func (s *session) rest(ctx context.Context, query string, args ...any) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "truncate sleepers"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "insert into sleepers "+query, args...); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sleeper); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "select pg_notify('bellhop_due', '')")
		return err
	})
}

// restsWith counts the statements and the CPU of an idle program.
func (b *bench) restsWith(ctx context.Context, counts *pgx.Conn, s *session, round int, who string) error {
	time.Sleep(6 * time.Second) // a safety scan has been
	span := time.Duration(b.length(20, 60)) * time.Second
	if _, err := counts.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return err
	}
	before, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	time.Sleep(span)
	after, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	var calls int64
	var ms float64
	if err := counts.QueryRow(ctx, `select coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0)
		from pg_stat_statements q join pg_database d on d.oid = q.dbid where d.datname = $1`, s.db.name).Scan(&calls, &ms); err != nil {
		return err
	}
	if err := b.sayLongest(ctx, counts, s); err != nil {
		return err
	}
	b.note(round, sleepStatements, who, float64(calls)/span.Minutes(), "")
	b.note(round, "jobs asleep, idle: the server's time of these statements", who, ms/span.Minutes(), "ms a minute")
	b.note(round, sleepCPU, who, 100*(after-before).Seconds()/span.Seconds(), "% of a core")
	return nil
}

// sayLongest tells which statements took the server longest.
func (b *bench) sayLongest(ctx context.Context, counts *pgx.Conn, s *session) error {
	rows, err := counts.Query(ctx, `select calls, total_exec_time,
			regexp_replace(regexp_replace(query, '--[^\n]*', '', 'g'), '\s+', ' ', 'g')
		from pg_stat_statements q join pg_database d on d.oid = q.dbid where d.datname = $1 order by total_exec_time desc limit 4`, s.db.name)
	if err != nil {
		return err
	}
	var calls int64
	var ms float64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&calls, &ms, &text}, func() error {
		b.say("        %d in %.1f ms: %.150s", calls, ms, text)
		return nil
	})
	return err
}

// wakeByTime has jobs wake at random times.
func (s *session) wakeByTime(ctx context.Context, round int, who string) error {
	n := s.b.length(200, 1000)
	return s.wake(ctx, round, wakeByTime, who, n, func(before int) ([]int64, error) {
		began := time.Now()
		at, times := make([]int64, n), make([]time.Time, n)
		for i := range n {
			in := 2*time.Second + time.Duration(i)*20*time.Millisecond + rand.N(20*time.Millisecond)
			times[i] = began.Add(in).Truncate(time.Microsecond)
			at[i] = receipt.Monotonic() + int64(time.Until(times[i]))
		}
		return at, s.rest(ctx, `select 't' || $2::int + n - 1, t, null from unnest($1::timestamptz[]) with ordinality u (t, n)`, times, before)
	})
}

// wakeByEvent has jobs await an event each, and emits these one at a time.
func (s *session) wakeByEvent(ctx context.Context, round int, who string) error {
	n := s.b.length(200, 1000)
	return s.wake(ctx, round, wakeByEvent, who, n, func(before int) ([]int64, error) {
		if err := s.rest(ctx, `select 't' || $2::int + n - 1, clock_timestamp() + interval '30 days', 'wake.' || n
			from generate_series(1, $1::int) n`, n, before); err != nil {
			return nil, err
		}
		time.Sleep(time.Second)
		at := make([]int64, n)
		for i := range n {
			if _, err := s.conn.Exec(ctx, "select bellhop.emit('wake.' || $1::int)", i+1); err != nil {
				return nil, err
			}
			at[i] = receipt.Monotonic()
			time.Sleep(5*time.Millisecond + rand.N(20*time.Millisecond))
		}
		return at, nil
	})
}

// wake notes how many ms after the times that f gives, in order, the lines of n jobs are at the agent.
func (s *session) wake(
	ctx context.Context, round int, row, who string, n int, f func(before int) ([]int64, error),
) error {
	before, err := receipt.Notes(s.notes)
	if err != nil {
		return err
	}
	at, err := f(before)
	if err != nil {
		return err
	}
	got, err := s.receipts(before+n, 2*time.Minute)
	if err != nil {
		return err
	}
	var late []float64
	for i, since := range at {
		line, ok := got[fmt.Sprint("t", before+i)]
		if !ok {
			return fmt.Errorf("job t%d never reached an agent", before+i)
		}
		late = append(late, float64(line-since)/1e6)
	}
	s.b.note(round, row+"p50", who, percentile(late, 0.5), "ms")
	s.b.note(round, row+"p99", who, percentile(late, 0.99), "ms")
	return ctx.Err()
}
