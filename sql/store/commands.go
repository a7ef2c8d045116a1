package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	runCommandsSQL, keysSQL, locatedSQL = sql.Query("run_commands"), sql.Query("keys"), sql.Query("located")
	locksAgesSQL                        = sql.Query("locks_ages")
)

// RunCommands carries out the commands that wait in the queue, and tells what
// operators want of this instance now.
func (k *Maintenance) RunCommands(ctx context.Context, me scheduler.InstanceID) (s scheduler.ControlState, err error) {
	counted := k.counted(time.Now())
	var left bool // operations without a worker
	err = k.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var n, sketches int
		left = false
		var sensorIn, noticeIn *int64
		var ages *float64
		args := append([]any{int64(me), k.Policy.Constants.Horizon().Milliseconds()}, counted.args()...)
		err := conn.QueryRow(ctx, runCommandsSQL, args...).
			Scan(&n, &s.Paused, &s.Stop, &s.Attached, &ages, &sensorIn, &noticeIn, &sketches, &s.Watches, &left,
				&s.Instances, &s.Promises)
		if ages != nil {
			s.Locks, s.Reserves = true, agesAt(*ages)
		}
		if sensorIn != nil {
			s.Sensors, s.SensorIn = true, time.Duration(*sensorIn)*time.Millisecond
		}
		if noticeIn != nil {
			s.Notices, s.NoticeIn = true, time.Duration(*noticeIn)*time.Millisecond
		}
		return err
	})
	if err != nil {
		k.Counts.giveBack(counted)
		return scheduler.ControlState{}, fmt.Errorf("carry out commands: %w", err)
	}
	if left && k.Operations != nil {
		k.Operations()
	}
	return s, nil
}

// agesAt is the time at which so many ms from now are over; zero: never.
func agesAt(ms float64) time.Time {
	if math.IsInf(ms, 1) {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(ms * float64(time.Millisecond)))
}

// Reserve has locks kept for the jobs that have waited for long enough by now: so many. It tells when the next one has;
// zero: never, as things are.
func (k *Maintenance) Reserve(ctx context.Context) (n int, next time.Time, err error) {
	err = k.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var ms float64
		err := conn.QueryRow(ctx, locksAgesSQL, k.Policy.Constants.Horizon().Milliseconds()).Scan(&n, &ms)
		next = agesAt(ms)
		return err
	})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("look for jobs to reserve for: %w", err)
	}
	return n, next, nil
}

// Keys lists the names in run_on under which jobs are ready, from behind one
// on, at most so many.
func (k *Maintenance) Keys(ctx context.Context, after scheduler.RunOn, most int) (keys []scheduler.RunOn, err error) {
	err = k.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, keysSQL, string(after.Type), after.Name, most)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.RunOn])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at the names in run_on: %w", err)
	}
	return keys, nil
}

// Located is where the user's query sees a name; Error: why it sees it nowhere.
type Located struct {
	Hosts []scheduler.HostName
	Error string
}

// LocateThrough has names found by the user's query. Call it before the first use.
func (k *Maintenance) LocateThrough(l *Locator) { k.locator = l }

// Locates reports whether there is a query of the user's that Locate asks.
func (k *Maintenance) Locates() bool { return k.locator != nil }

// Locate asks it for names, and shows others the answer. What cannot be found
// is in the map too.
func (k *Maintenance) Locate(ctx context.Context, me scheduler.InstanceID, names []string) (
	map[string][]scheduler.HostName, error) {
	all, err := k.locator.Locate(ctx, names)
	if err != nil {
		return nil, err
	}
	hosts := make(map[string][]scheduler.HostName, len(all))
	for name, l := range all {
		hosts[name] = l.Hosts
	}
	return hosts, k.publish(ctx, me, all)
}

// publish shows others what the user's query said.
func (k *Maintenance) publish(ctx context.Context, me scheduler.InstanceID, all map[string]Located) error {
	var names, hosts, errors []string
	for name, l := range all {
		on := ""
		for i, h := range l.Hosts {
			if i > 0 {
				on += " "
			}
			on += string(h)
		}
		names, hosts, errors = append(names, name), append(hosts, on), append(errors, text(l.Error))
	}
	return k.conn.exec(ctx, "publish where names are", locatedSQL, int64(me), names, hosts, errors)
}
