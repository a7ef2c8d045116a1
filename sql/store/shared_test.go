package store

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
)

// share has two desks share connections, on a clock of the test's own.
func share(e *env) (s *Shared, a, b *connection, later func(time.Duration)) {
	registry, maintenance := desk(e, NewRegistry), desk(e, NewMaintenance)
	s = NewShared(registry, maintenance)
	e.Cleanup(s.Close)
	now := time.Now()
	s.now = func() time.Time { return now }
	return s, registry.conn, maintenance.conn, func(d time.Duration) { now = now.Add(d) }
}

// look has a desk use a connection, and tells the backend's pid.
func look(e *env, c *connection) (pid int) {
	e.Helper()
	err := c.use(e.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid)
	})
	if err != nil {
		e.Fatal(err)
	}
	return pid
}

// sharing is how many connections desks that share have.
func sharing(e *env) (n int) {
	e.Helper()
	if err := e.conn.QueryRow(e.Context(), `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'bellhop upkeep'`).Scan(&n); err != nil {
		e.Fatal(err)
	}
	return n
}

func TestShared_DesksAtRestNeedOneConnection(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	_, a, b, _ := share(e)
	if one, other := look(e, a), look(e, b); one != other {
		t.Errorf("they used %d and %d", one, other)
	}
	if n := sharing(e); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestShared_NobodyWaitsBehindAnothersWork(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	_, a, b, later := share(e)
	err := a.use(t.Context(), func(context.Context, *pgx.Conn) error {
		look(e, b) // which comes back while a is at work
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := sharing(e); n != 2 {
		t.Errorf("%d connections at work", n)
	}
	later(surplusIdle + time.Second)
	look(e, a)
	later(surplusIdle + time.Second)
	look(e, a)
	pgtest.Eventually(t, time.Minute, "one is left of the two", func() bool { return sharing(e) == 1 })
}

func TestShared_TheLastOneStaysForAWhile(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s, a, _, later := share(e)
	first := look(e, a)
	later(surplusIdle + time.Second)
	if now := look(e, a); now != first {
		t.Error("it was closed though it was the last")
	}
	later(lastIdle + time.Second)
	for _, conn := range s.old() {
		hangUp(conn)
	}
	pgtest.Eventually(t, time.Minute, "it is closed", func() bool { return sharing(e) == 0 })
}

// After a restart of the server every connection is broken: one use finds that out, not one for each.
func TestShared_OneUseFindsOutThatConnectionsBroke(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	_, a, b, _ := share(e)
	err := a.use(t.Context(), func(context.Context, *pgx.Conn) error { look(e, b); return nil })
	if err != nil {
		t.Fatal(err)
	}
	e.exec(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
		where datname = current_database() and application_name = 'bellhop upkeep'`)
	if err := a.use(t.Context(), func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) }); err == nil {
		t.Fatal("a connection that the server has ended answers")
	}
	look(e, b)
	look(e, a)
}

func TestShared_WhatADeskLeavesOpenIsNobodyElses(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	_, a, b, _ := share(e)
	var left int
	err := a.use(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		left = int(conn.PgConn().PID())
		_, err := conn.Exec(ctx, "begin")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if pid := look(e, b); pid == left {
		t.Error("another desk got a connection amid a transaction")
	}
}
