package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql"
	"bellhop/sql/dial"
)

var (
	sensorsBeginSQL, sensorsDueSQL   = sql.Query("sensors_begin"), sql.Query("sensors_due")
	sensorsFireSQL, sensorsEventsSQL = sql.Query("sensors_fire"), sql.Query("sensors_events")
	sensorsNextSQL                   = sql.Query("sensors_next")
	sensorsProblemSQL                = sql.Query("sensors_problem")
	sensorsWaitSQL                   = sql.Query("sensors_wait")
	assignTurnSQL, assignSQL         = sql.Query("assign_turn"), sql.Query("assign")
	assignInstancesSQL               = sql.Query("assign_instances")
	assignUnitsSQL                   = sql.Query("assign_units")
)

// sensorsMost is how many sensors, and events, one transaction sees to, and sensorsFor for how long one turn goes on
// while there are more, and none has fired: of those that were just applied all find out when their slots are.
const (
	sensorsMost = 100
	sensorsFor  = 5 * time.Second
)

// Sensors makes runs of what the clock says, and of events.
type Sensors struct{ session }

// NewSensors returns a session for sensors; it connects at its first use.
func NewSensors(url string) (*Sensors, error) {
	conn, err := newConnection(url, "clock", upkeepByIndex()) // statistics may be of a time when nothing ran
	return &Sensors{session{conn}}, err
}

// Turn sees to what is due: it gives how many slots and events that were, and the delay until the next look
// (negative: none is needed).
func (s *Sensors) Turn(ctx context.Context, me scheduler.InstanceID) (fired int, next time.Duration, err error) {
	next = -1
	err = s.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var starts, unassigned bool
		if err := conn.QueryRow(ctx, sensorsBeginSQL, int64(me)).Scan(&starts, &unassigned); err != nil || !starts {
			return err
		}
		var n int
		var err, notAssigned error
		if unassigned { // where that cannot be done now, what is this instance's is due all the same
			if notAssigned = assign(ctx, conn); conn.IsClosed() {
				return notAssigned
			}
		}
		for began, more := time.Now(), true; err == nil && more && n == 0 && time.Since(began) < sensorsFor; {
			n, more, err = turnSensors(ctx, conn, me, sensorsMost, false)
		}
		if refused(err) {
			// One of them cannot be made: each for itself, and that one is written down as failed.
			n, _, err = turnSensors(ctx, conn, me, 1, true)
		}
		if err != nil {
			return err
		}
		fired = n
		var ms *int64
		if err := conn.QueryRow(ctx, sensorsNextSQL, int64(me)).Scan(&ms); err != nil {
			return err
		}
		if ms != nil {
			next = time.Duration(*ms) * time.Millisecond
		}
		return notAssigned
	})
	if err != nil {
		return fired, -1, fmt.Errorf("look at sensors: %w", err)
	}
	return fired, next, nil
}

// assign gives workflows to instances, unless another instance is at it.
func assign(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var turn bool
		if err := tx.QueryRow(ctx, assignTurnSQL).Scan(&turn); err != nil || !turn {
			return err
		}
		rows, err := tx.Query(ctx, assignInstancesSQL)
		if err != nil {
			return err
		}
		live, err := pgx.CollectRows(rows, pgx.RowTo[scheduler.InstanceID])
		if err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, assignUnitsSQL); err != nil {
			return err
		}
		units, err := pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.Unit])
		if err != nil {
			return err
		}
		var names []string
		var to []int64
		for _, m := range scheduler.Assign(units, live) {
			names, to = append(names, m.Unit), append(to, int64(m.To))
		}
		if len(names) == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, assignSQL, names, to)
		return err
	})
}

// refused reports an error that trying the same again would meet again.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && dial.Judge(e) == dial.Fault
}

// dueSensor is one that is due.
type dueSensor struct {
	workflow   string
	definition json.RawMessage
	next       *time.Time
	now        time.Time
	recent     []time.Time
	open       bool
	queued     int
}

// turnSensors sees to so many at most; more: there were as many.
func turnSensors(ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, most int, safely bool) (
	fired int, more bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sensorsWaitSQL); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sensorsDueSQL, most, int64(me))
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d dueSensor, err error) {
			err = row.Scan(&d.workflow, &d.definition, &d.next, &d.now, &d.recent, &d.open, &d.queued)
			return d, err
		})
		if err != nil {
			return err
		}
		more = len(list) == most
		for _, d := range list {
			n, err := fireSensor(ctx, tx, d, safely)
			if err != nil {
				return err
			}
			fired += n
		}
		var events int
		err = tx.QueryRow(ctx, sensorsEventsSQL, most, safely).Scan(&events)
		fired += events
		return err
	})
	return fired, more, err
}

// fireSensor writes what a look at a sensor comes to.
func fireSensor(ctx context.Context, tx pgx.Tx, d dueSensor, safely bool) (n int, err error) {
	var sensor workflow.Sensor
	seen := workflow.Seen{Now: d.now, Recent: d.recent, Open: d.open, Queued: d.queued}
	if d.next != nil {
		seen.Next = *d.next
	}
	var then workflow.Then
	if err = json.Unmarshal(d.definition, &sensor); err == nil {
		then, err = sensor.Look(seen)
	}
	if err != nil { // it was written by SQL, which knows nothing of cron
		_, err = tx.Exec(ctx, sensorsProblemSQL, d.workflow, err.Error())
		return 0, err
	}
	events, slots, caught := []string{}, []time.Time{}, []bool{}
	for _, f := range then.Fire {
		events, slots, caught = append(events, f.Event()), append(slots, f.At), append(caught, f.Caught)
	}
	next := pgtype.Timestamptz{Time: then.Next, Valid: !then.Next.IsZero()}
	if then.Waits {
		next = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	held := pgtype.Timestamptz{Time: then.Held, Valid: !then.Held.IsZero()}
	err = tx.QueryRow(ctx, sensorsFireSQL, d.workflow, events, slots, caught, next, safely, held).Scan(&n)
	return n, err
}
