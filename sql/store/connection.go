// Package store runs bellhop's statements on PostgreSQL through pgx. Each of its
// desks (Claimer, Recorder, Registry, Maintenance) has a connection while it works,
// so that none waits behind another's work: its own, or one that several take in
// turn (Shared). A desk whose connection broke opens a new one at its next use. It
// decides nothing: it turns values into statements and rows into values.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql/dial"
)

// patience bounds every statement of a session: a server that swallows bytes without closing must not block its
// caller for longer.
const patience = 15 * time.Second

// lockWait bounds how long a session waits for a lock: a holder of one (an ALTER TABLE that waits for its turn)
// keeps it from that work, but not from the next on its connection, such as a heartbeat.
const lockWait = "1s"

// byIndex keeps the hot statements on their indexes whatever the statistics say:
// right after a bulk insert, or before the first ANALYZE, the planner takes the
// queue for a table of a few rows and reads all of it, for every claim. And it
// keeps the plan: planning the claim anew takes as long as carrying it out.
var byIndex = map[string]string{"enable_seqscan": "off", "enable_bitmapscan": "off", "plan_cache_mode": "force_generic_plan"}

// byHash keeps long lists from being joined row by row with the jobs they name:
// before the first ANALYZE the planner expects one row of each, and a batch of
// 2000 outcomes would take seconds.
var byHash = map[string]string{"enable_nestloop": "off"}

// connection is one connection, opened at need.
type connection struct {
	way    dial.Way
	mu     sync.Mutex
	conn   *pgx.Conn
	opened int    // how often it was opened
	shelf  *shelf // others use its connection, too, between its uses; nil: it is its own
}

func newConnection(url, name string, settings map[string]string) (*connection, error) {
	way := ownWay(url, name, dial.With(settings))
	return &connection{way: way}, way.Check()
}

// ownWay leads to a server that takes writes: the instance's own statements all may.
func ownWay(url, name string, settings map[string]string) dial.Way {
	return dial.Way{URL: url, Name: "bellhop " + name, Settings: settings, Writes: true, Tune: dial.KeepStatements}
}

// use runs f on the connection, one caller at a time. A connection that f
// leaves broken is replaced at the next use.
func (c *connection) use(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.shelf != nil {
		conn, err := c.shelf.take(ctx)
		if err != nil {
			return &scheduler.Unreachable{Err: err}
		}
		defer c.shelf.give(conn)
		return ended(conn, f(ctx, conn))
	}
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := c.way.Connect(ctx)
		if err != nil {
			return &scheduler.Unreachable{Err: err}
		}
		c.conn = conn
		c.opened++
	}
	return ended(c.conn, f(ctx, c.conn))
}

// exec runs one statement. Its error says what it was doing.
func (c *connection) exec(ctx context.Context, doing, text string, args ...any) error {
	err := c.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, text, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// rowsOf runs one statement, and reads its rows into structs, column by column. Its error says what it was doing.
func rowsOf[T any](ctx context.Context, c *connection, doing, text string, args ...any) (list []T, err error) {
	err = c.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, text, args...)
		if err == nil {
			list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

// session is what desks have in common that use one connection, and may share it.
type session struct{ conn *connection }

// Close ends the session's connection.
func (s session) Close() { s.conn.close() }

func (s session) connections() []*connection { return []*connection{s.conn} }

// ended ends a session that will not serve again, and marks what it met as an error of the connection.
func ended(conn *pgx.Conn, err error) error {
	if err == nil {
		return nil
	}
	if !conn.IsClosed() && !dial.OverIn(err) {
		return err
	}
	hangUp(conn)
	return &scheduler.Unreachable{Err: err}
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		hangUp(c.conn)
		c.conn = nil
	}
}

// busy reports whether a statement has not got a lock in time.
func busy(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "55P03"
}

// notARow reports whether the lock was not a row's: a commit that rings waits for
// another's, say, which is over in a moment.
func notARow(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Where == ""
}

// transient reports whether a statement that failed with err may well succeed
// when it is simply tried again, here or in another session.
func transient(err error) bool { return dial.Judge(err) != dial.Fault }
