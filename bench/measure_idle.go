package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev"
)

// measureIdle looks at schedulers with nothing to do, all at the same time,
// each in a database of its own of a server that counts statements: that would
// cost the other measures a little.
func measureIdle(ctx context.Context, b *bench, round int) error {
	return b.counting(ctx, func(conn *pgx.Conn) error { return b.idle(ctx, conn, round) })
}

// counting runs f with a server that counts statements in place of the bench's own.
func (b *bench) counting(ctx context.Context, f func(*pgx.Conn) error) error {
	main := b.cluster
	defer func() { b.cluster = main }()
	counting, err := pgdev.Start(ctx, pgdev.Config{Durable: true, Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}})
	if err != nil {
		return fmt.Errorf("a server with pg_stat_statements (of PostgreSQL's contrib): %w", err)
	}
	defer func() {
		if stopErr := counting.Stop(context.WithoutCancel(ctx)); stopErr != nil {
			b.say("the counting server did not stop: %s", stopErr)
		}
	}()
	b.cluster = counting
	conn, err := pgx.Connect(ctx, counting.URL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "create extension pg_stat_statements"); err != nil {
		return err
	}
	return f(conn)
}

func (b *bench) idle(ctx context.Context, conn *pgx.Conn, round int) error {
	all := []contender{&bellhop{b: b}, &river{b: b, best: true}, &river{b: b}}
	// Each waits inside with for the one that is started after it; the last one looks at all.
	var sessions []*session
	var look func() error
	look = func() error {
		if len(sessions) < len(all) {
			c := all[len(sessions)]
			return b.with(ctx, c, options{}, func(s *session) error {
				if err := s.conn.Close(ctx); err != nil { // it is not to be counted
					return err
				}
				sessions = append(sessions, s)
				return look()
			})
		}
		return b.lookAtIdle(ctx, conn, round, sessions)
	}
	return look()
}

func (b *bench) lookAtIdle(ctx context.Context, conn *pgx.Conn, round int, sessions []*session) error {
	time.Sleep(2 * time.Second) // let them come to rest
	span := time.Duration(b.length(10, 60)) * time.Second
	if _, err := conn.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return err
	}
	cpu := make([]time.Duration, len(sessions))
	for i, s := range sessions {
		var err error
		if cpu[i], err = cpuTime(s.pid()); err != nil {
			return err
		}
	}
	time.Sleep(span)
	for i, s := range sessions {
		after, err := cpuTime(s.pid())
		if err != nil {
			return err
		}
		rss, err := memory(s.pid(), "status", "VmRSS")
		if err != nil {
			return err
		}
		rows, err := conn.Query(ctx, `select calls, regexp_replace(regexp_replace(query, '--[^\n]*', '', 'g'), '\s+', ' ', 'g')
			from pg_stat_statements q join pg_database d on d.oid = q.dbid where d.datname = $1 order by calls desc`, s.db.name)
		if err != nil {
			return err
		}
		var calls, total int64
		var text string
		if _, err := pgx.ForEachRow(rows, []any{&calls, &text}, func() error {
			total += calls
			b.say("        %s: %.0f a minute: %.90s", s.name(), float64(calls)/span.Minutes(), text)
			return nil
		}); err != nil {
			return err
		}
		if total == 0 && s.name() == "bellhop" {
			return errors.New("no statement of bellhop was counted, not even its heartbeat")
		}
		b.note(round, "idle: statements a minute", s.name(), float64(total)/span.Minutes(), "")
		b.note(round, "idle: CPU of the scheduler", s.name(), 100*(after-cpu[i]).Seconds()/span.Seconds(), "% of a core")
		b.note(round, "idle: memory of the scheduler (resident)", s.name(), rss, "MB")
	}
	return nil
}
