package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql"
)

var watchesSQL, watchesEventsSQL, watchesLagSQL, watchesFailingSQL = sql.Query("watches"), sql.Query("watches_events"),
	sql.Query("watches_lag"), sql.Query("watches_failing")

// Watches are the sensors that instances look out for, and what they have seen.
type Watches struct{ session }

// NewWatches returns a session for them; it connects at its first use.
func NewWatches(url string) (*Watches, error) {
	conn, err := newConnection(url, "watches", upkeep)
	return &Watches{session{conn}}, err
}

// Mine are the sensors that an instance watches. One that cannot be read is left out: it was written by SQL.
func (w *Watches) Mine(ctx context.Context, me scheduler.InstanceID) (list []workflow.Watch, err error) {
	err = w.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		list = nil
		rows, err := conn.Query(ctx, watchesSQL, int64(me))
		if err != nil {
			return err
		}
		var x workflow.Watch
		var sensor, place []byte
		_, err = pgx.ForEachRow(rows, []any{&x.Workflow, &sensor, &x.Told, &place}, func() error {
			x.Sensor, x.Place = workflow.Sensor{}, nil
			if place != nil {
				x.Place = &workflow.Place{}
				if err := json.Unmarshal(place, x.Place); err != nil {
					return fmt.Errorf("where %s stands: %w", x.Workflow, err)
				}
			}
			if json.Unmarshal(sensor, &x.Sensor) == nil {
				list = append(list, x)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read which sensors to watch: %w", err)
	}
	return list, nil
}

// Happened keeps what a sensor has seen. mine is false where its workflow is another instance's by now.
func (w *Watches) Happened(ctx context.Context, me scheduler.InstanceID, name string, seen workflow.Sight) (
	mine bool, err error) {
	list := seen.Events
	events, given := make([]*string, len(list)), make([]string, len(list))
	for i, h := range list {
		if h.Event != "" {
			events[i] = &list[i].Event
		}
		object, err := json.Marshal(h.Given)
		if err != nil {
			return false, err
		}
		given[i] = string(object)
	}
	var place *string
	if seen.Place != nil {
		object, err := json.Marshal(seen.Place)
		if err != nil {
			return false, err
		}
		s := string(object)
		place = &s
	}
	remark := seen.Remark
	if remark != nil {
		s := text(*remark)
		remark = &s
	}
	err = w.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var n *int
		err := conn.QueryRow(ctx, watchesEventsSQL, int64(me), name, events, given, place, remark).Scan(&n)
		mine = n != nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("keep what a sensor has seen: %w", err)
	}
	return mine, nil
}

// Lag tells how many messages a sensor has not read yet.
func (w *Watches) Lag(ctx context.Context, me scheduler.InstanceID, name string, lag int64) error {
	return w.tell(ctx, watchesLagSQL, int64(me), name, lag)
}

// Failing tells why a sensor sees nothing; empty: it does again.
func (w *Watches) Failing(ctx context.Context, me scheduler.InstanceID, name, why string) error {
	return w.tell(ctx, watchesFailingSQL, int64(me), name, sql.OrNull(text(why)))
}

func (w *Watches) tell(ctx context.Context, query string, args ...any) error {
	return w.conn.exec(ctx, "tell of a sensor", query, args...)
}
