// Package store runs bellhop's statements on PostgreSQL through pgx. Each of
// its sessions (Claimer, Recorder, Registry, Maintenance) owns one connection, so that
// none waits behind another's work; a session whose connection broke opens a new
// one at its next use. It decides nothing: it turns values into statements and
// rows into values.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// patience bounds every statement of a session: a server that swallows bytes
// without closing must not hold anybody for longer.
const patience = 15 * time.Second

// lockWait bounds how long a session waits for a lock: somebody who holds one (an
// ALTER TABLE that waits for its turn) keeps it from its work, not from the
// next that has to be done on its connection, a heartbeat say.
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
	config *pgx.ConnConfig
	mu     sync.Mutex
	conn   *pgx.Conn
	opened int // how often it was opened
}

func newConnection(url, name string, settings map[string]string) (*connection, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "bellhop " + name
	config.RuntimeParams["client_encoding"] = "UTF8" // whatever the login has set
	// Nor where it looks: who may make functions in public could give our statements other ones, with the scheduler's
	// rights.
	if name != "locate" { // that query is the user's own
		config.RuntimeParams["search_path"] = "pg_catalog, bellhop, pg_temp"
	}
	// Beside a million ready jobs the planner expects so much of the larger claim that the server would compile it anew
	// for
	// each claim, for seconds: our statements end before any compiler does.
	config.RuntimeParams["jit"] = "off"
	for k, v := range settings {
		config.RuntimeParams[k] = v
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	return &connection{config: config}, nil
}

// use runs f on the connection, one caller at a time. A connection that f
// leaves broken is replaced at the next use.
func (c *connection) use(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, c.config)
		if err != nil {
			return &Unreachable{err}
		}
		c.conn = conn
		c.opened++
	}
	err := f(ctx, c.conn)
	if err != nil && c.conn.IsClosed() {
		return &Unreachable{err}
	}
	return err
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.conn.Close(ctx) // it is going anyway
		c.conn = nil
	}
}

// Unreachable is an error of the connection, not of the statement: whether the
// statement was carried out is not known.
type Unreachable struct{ err error }

func (u *Unreachable) Error() string { return fmt.Sprintf("database out of reach: %v", u.err) }
func (u *Unreachable) Unwrap() error { return u.err }

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
// when it is simply tried again: serialization failures, deadlocks, a server
// that is shutting down or full, a cancelled statement.
func transient(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return true
	}
	switch e.Code[:2] {
	case "40", "53", "55", "57", "58", "08":
		return true
	}
	return false
}
