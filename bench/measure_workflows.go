package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/bench/receipt"
)

// What is measured of workflows.
const (
	workflowsMany = 10_000

	slotLate   = "10,000 workflows: cron, the slot → its first step at the agent, p99"
	stepHop    = "10,000 workflows: steps of a run, line → next line, p50"
	restOfMany = "10,000 workflows at rest: statements a minute"
	assignMany = "10,000 workflows: assigned again, the server's time of all its statements"
	joinMoves  = "10,000 workflows, a fourth instance: registered → it has its quarter"
	joinMoved  = "10,000 workflows, a fourth instance: how many change their instance"
)

// measureWorkflows looks at three instances with 10,000 workflows of which none is due, and at one more that is.
func measureWorkflows(ctx context.Context, b *bench, round int) error {
	return b.counting(ctx, func(counts *pgx.Conn) error {
		if err := b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error {
			return b.rests(ctx, counts, s, round, "bellhop, none")
		}); err != nil {
			return err
		}
		if err := b.with(ctx, &bellhop{b: b}, options{}, func(s *session) error {
			s.uncounted = true // the number of slots is not known
			if err := s.workflows(ctx, workflowsMany); err != nil {
				return err
			}
			if err := b.rests(ctx, counts, s, round, "bellhop"); err != nil {
				return err
			}
			if err := b.slots(ctx, s, round); err != nil {
				return err
			}
			return b.steps(ctx, s, round)
		}); err != nil {
			return err
		}
		three := &bellhop{b: b, many: 3}
		return b.with(ctx, three, options{}, func(s *session) error {
			if err := s.workflows(ctx, workflowsMany); err != nil {
				return err
			}
			return b.joins(ctx, counts, three, s, round)
		})
	})
}

// workflows applies as many, of which none is due this year, and waits until each has an instance.
func (s *session) workflows(ctx context.Context, n int) error {
	if _, err := s.conn.Exec(ctx, `select bellhop.workflow_apply(jsonb_build_object('workflow', 'w' || g,
		'sensor', '{"cron": "0 0 29 2 *"}'::jsonb, 'steps', '[{"name": "a", "type": "noop"}]'::jsonb))
		from generate_series(1, $1::int) g`, n); err != nil {
		return err
	}
	if err := s.vacuum(ctx); err != nil {
		return err
	}
	return s.until(ctx, `select not exists (select from bellhop.workflow where active and instance is null)
		and not exists (select from bellhop.sensor where next_fire <= now()) and not bellhop.unassigned()`)
}

// until waits for what a statement says.
func (s *session) until(ctx context.Context, text string, args ...any) error {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var is bool
		if err := s.conn.QueryRow(ctx, text, args...).Scan(&is); err != nil || is {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within two minutes: %.100s", text)
		}
	}
}

// rests counts the statements of an idle program.
func (b *bench) rests(ctx context.Context, counts *pgx.Conn, s *session, round int, who string) error {
	time.Sleep(5 * time.Second) // let it come to rest
	span := time.Duration(b.length(20, 60)) * time.Second
	if _, err := counts.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return err
	}
	time.Sleep(span)
	var calls int64
	err := counts.QueryRow(ctx, `select coalesce(sum(calls), 0) from pg_stat_statements q join pg_database d on d.oid = q.dbid
		where d.datname = $1`, s.db.name).Scan(&calls)
	b.note(round, restOfMany, who, float64(calls)/span.Minutes(), "")
	return err
}

// slots has a workflow that is due each second.
func (b *bench) slots(ctx context.Context, s *session, round int) error {
	before, err := receipt.Notes(s.notes)
	if err != nil {
		return err
	}
	n := b.length(60, 300)
	if _, err := s.conn.Exec(ctx, `select bellhop.workflow_apply('{"workflow": "tick", "sensor": {"cron": "* * * * * *"},
		"steps": [{"name": "a", "type": "noop", "args": "t${SLOT}"}]}')`); err != nil {
		return err
	}
	got, err := s.receipts(before+n, time.Duration(n+60)*time.Second)
	if err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "select bellhop.workflow_change('tick', 'deactivated')"); err != nil {
		return err
	}
	began := time.Now().UnixNano() - receipt.Monotonic() // of the machine's clock
	var late []float64
	for line, at := range got {
		if slot, err := time.Parse(time.RFC3339, strings.TrimPrefix(line, "t")); err == nil {
			late = append(late, float64(at+began-slot.UnixNano())/1e6)
		}
	}
	if len(late) < n {
		return fmt.Errorf("%d slots, and %d lines tell of one", n, len(late))
	}
	b.note(round, slotLate, "bellhop", percentile(late, 0.99), "ms")
	b.note(round, "10,000 workflows: cron, the slot → its first step at the agent, p50", "bellhop", percentile(late, 0.5), "ms")
	return nil
}

// steps runs a workflow of many steps.
func (b *bench) steps(ctx context.Context, s *session, round int) error {
	if err := s.settle(ctx, time.Minute); err != nil { // the last slot's
		return err
	}
	idle, _, err := s.sample(ctx, b.length(100, 300))
	if err != nil {
		return err
	}
	before, err := receipt.Notes(s.notes)
	if err != nil {
		return err
	}
	n := b.length(100, 500)
	if _, err := s.conn.Exec(ctx, `select bellhop.workflow_apply(jsonb_build_object('workflow', 'long', 'steps',
		(select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', 's' || g, 'type', 'noop', 'args', 'tstep' || g,
			'after', case when g > 0 then jsonb_build_array('s' || g - 1) end)) order by g) from generate_series(0, $1::int - 1) g)))`, n); err != nil {
		return err
	}
	if _, err := s.conn.Exec(ctx, "select bellhop.workflow_run('long')"); err != nil {
		return err
	}
	got, err := s.receipts(before+n, time.Minute)
	if err != nil {
		return err
	}
	var hops []float64
	for i := 1; i < n; i++ {
		hops = append(hops, float64(got[fmt.Sprint("tstep", i)]-got[fmt.Sprint("tstep", i-1)])/1e6)
	}
	b.note(round, stepHop, "bellhop", percentile(hops, 0.5), "ms")
	b.note(round, stepHop, "bellhop, idle pick-up", percentile(idle, 0.5), "ms")
	return nil
}

// joins has a fourth instance come.
func (b *bench) joins(ctx context.Context, counts *pgx.Conn, three *bellhop, s *session, round int) error {
	for _, text := range []string{
		"create temp table was as select name, instance from bellhop.workflow",
		"create temp table there as select id from bellhop.instance",
	} {
		if _, err := s.conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	if _, err := counts.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return err
	}
	if err := three.join(); err != nil {
		return err
	}
	const fresh = "from bellhop.instance i where i.state = 'live' and i.id not in (select id from there)"
	if err := s.until(ctx, "select exists (select "+fresh+")"); err != nil {
		return err
	}
	began := time.Now()
	if err := s.until(ctx, "select count(*) = $1 from bellhop.workflow where instance = (select i.id "+fresh+")",
		workflowsMany/4); err != nil {
		return err
	}
	b.note(round, joinMoves, "bellhop", float64(time.Since(began))/1e6, "ms")
	var moved int
	if err := s.conn.QueryRow(ctx, "select count(*) from bellhop.workflow w join was using (name) where w.instance <> was.instance").
		Scan(&moved); err != nil {
		return err
	}
	b.note(round, joinMoved, "bellhop", float64(moved), "")
	var spent float64
	err := counts.QueryRow(ctx, `select coalesce(sum(total_exec_time), 0) from pg_stat_statements q join pg_database d on d.oid = q.dbid
		where d.datname = $1 and (query like '%bellhop.able(w.definition%' or query like 'with moved as%' or query like '%with moved as (%'
			or query like '%bellhop.starts_workflows(i.id) order by i.id%')`, s.db.name).Scan(&spent)
	b.note(round, assignMany, "bellhop", spent, "ms")
	return err
}
