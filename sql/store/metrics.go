package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
	"bellhop/sql/view"
)

// Metrics reads what is told about the queue: for links between traces, and for metrics. It has a connection of its
// own, so that nothing else waits for it.
type Metrics struct{ session }

// NewMetrics returns a session for looking on; it connects at its first use.
func NewMetrics(url string) (*Metrics, error) {
	conn, err := newConnection(url, "observer", upkeepByIndex())
	return &Metrics{session{conn}}, err
}

// Look runs fn on the session.
func (o *Metrics) Look(ctx context.Context, fn func(context.Context, view.Look) error) error {
	return o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error { return fn(ctx, view.NewLook(conn)) })
}

var needsSQL = sql.Query("needs")

// Needs gives the jobs that some jobs needed, at most 100 of each.
func (o *Metrics) Needs(
	ctx context.Context, jobs []scheduler.JobID,
) (needed map[scheduler.JobID][]scheduler.Needed, err error) {
	needed = map[scheduler.JobID][]scheduler.Needed{}
	err = o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, needsSQL, jobs)
		if err != nil {
			return err
		}
		var job scheduler.JobID
		var n scheduler.Needed
		_, err = pgx.ForEachRow(rows, []any{&job, &n.Job, &n.Attempt, &n.Traceparent, &n.CreatedAt}, func() error {
			needed[job] = append(needed[job], n)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what jobs needed: %w", err)
	}
	return needed, nil
}

var gaugesSQL = sql.Query("gauges")

// Gauges reads what is not over yet, and how full the server's notification
// queue is, from 0 to 1.
func (o *Metrics) Gauges(ctx context.Context) (list []scheduler.Gauge, notifications float64, err error) {
	err = o.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, gaugesSQL)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.Gauge])
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
