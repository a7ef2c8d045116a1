package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Metrics reads what is told about the queue: for links between traces, and for metrics. It has a connection of its
// own, so that nothing else waits for it.
type Metrics struct{ conn *connection }

// NewMetrics returns a session for looking on; it connects at its first use.
func NewMetrics(url string) (*Metrics, error) {
	conn, err := newConnection(url, "observer", upkeepByIndex())
	return &Metrics{conn}, err
}

// Close ends the session's connection.
func (o *Metrics) Close() { o.conn.close() }

func (o *Metrics) connections() []*connection { return []*connection{o.conn} }

// Look runs fn on the session.
func (o *Metrics) Look(ctx context.Context, fn func(context.Context, Look) error) error {
	return o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error { return fn(ctx, NewLook(conn)) })
}

var needsSQL = sql.Query("needs")

// Needed is a job that another one needed.
type Needed struct {
	Job, Needs  scheduler.JobID
	Attempt     int
	Traceparent string
	CreatedAt   time.Time
}

// Needs gives the jobs that some jobs needed, at most 100 of each.
func (o *Metrics) Needs(ctx context.Context, jobs []scheduler.JobID) (needed []Needed, err error) {
	err = o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, needsSQL, jobs)
		if err != nil {
			return err
		}
		needed, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Needed])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what jobs needed: %w", err)
	}
	return needed, nil
}

var gaugesSQL = sql.Query("gauges")

// Gauge is how many jobs of a type are in a state, and for ready ones how old
// the oldest is, in seconds; nil: not known.
type Gauge struct {
	State  scheduler.JobState
	Type   scheduler.TypeName
	N      int64 // 100,000 are counted at most
	Oldest *float64
}

// Gauges reads what is not over yet, and how full the server's notification
// queue is, from 0 to 1.
func (o *Metrics) Gauges(ctx context.Context) (list []Gauge, notifications float64, err error) {
	err = o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, gaugesSQL)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Gauge])
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the queue for metrics: %w", err)
	}
	for i, g := range list {
		if g.State == "" {
			notifications = *g.Oldest
			return append(list[:i], list[i+1:]...), notifications, nil
		}
	}
	return list, 0, nil
}
