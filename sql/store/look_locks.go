package store

import (
	"context"
	"fmt"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

var (
	lookLocksSQL     = sql.Query("look_locks")
	lookSceneSQL     = sql.Query("look_scene")
	lookPolicySQL    = sql.Query("look_policy")
	lookDurationsSQL = sql.Query("look_durations")
)

// LockRow is a job that holds a lock, or waits behind it.
type LockRow struct {
	Level      string  `json:"level"` // empty, as Name: of What "next"
	Name       string  `json:"name"`  // * is every name, ? one that is not known
	Mode       string  `json:"mode"`  // of a holder: exclusive, shared, or slot (a place within a limit)
	What       string  `json:"what"`  // holds, waits, or next: the next pass looks at it
	Job        int64   `json:"job"`
	Type       string  `json:"type"`
	Instance   int64   `json:"instance"` // of a holder
	Age        float64 `json:"age"`      // in seconds, since it has the lock, or was submitted
	Place      int64   `json:"place"`    // of a waiting one, from 1 on
	WaitingFor string  `json:"waiting_for"`
}

// Locks gives who holds what, and of each lock the first who wait behind it.
func (l Look) Locks(ctx context.Context, most int) ([]LockRow, error) {
	locks, err := collect[LockRow](ctx, l.db, lookLocksSQL, most)
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	return locks, nil
}

// SceneRow is a job with locks, as a forecast sees it.
type SceneRow struct {
	Job      int64
	Type     string
	Priority int
	Locks    []string
	Behind   string
	Place    int
	Holds    bool
	Age      float64 // in seconds, since it was submitted
	Runs     float64 // and since it runs
}

// Scene gives what a forecast is made of: who holds locks, and about so many of
// those who wait, mine among them. The caller says by which policy, and of which slots.
func (l Look) Scene(ctx context.Context, most int, mine scheduler.JobID) (lock.Scene, error) {
	rows, err := collect[SceneRow](ctx, l.db, lookSceneSQL, most, mine)
	if err != nil {
		return lock.Scene{}, fmt.Errorf("read jobs with locks: %w", err)
	}
	now := time.Now()
	ago := func(s float64) time.Time { return now.Add(-time.Duration(s * float64(time.Second))) }
	s := lock.Scene{Policy: lock.AnyLevel, Now: now, Jobs: make([]lock.Seen, len(rows))}
	for i, r := range rows {
		s.Jobs[i] = lock.Seen{Job: lock.ID(r.Job), Type: r.Type, Priority: r.Priority, Locks: r.Locks, Behind: r.Behind,
			Place: r.Place, Holds: r.Holds, Since: ago(r.Age), Started: ago(r.Runs)}
	}
	return s, nil
}

// Policy is the one that is obeyed: that of the newest instance, or the one that holds
// where none is configured.
func (l Look) Policy(ctx context.Context) (lock.Policy, error) {
	rows, err := collect[struct{ Policy string }](ctx, l.db, lookPolicySQL)
	if err == nil && len(rows) > 0 {
		return lock.ReadPolicy([]byte(rows[0].Policy))
	}
	if err != nil {
		err = fmt.Errorf("read the policy of instances: %w", err)
	}
	return lock.AnyLevel, err
}

// DurationRow is how long jobs of a type took, in seconds.
type DurationRow struct {
	Type string
	P50  float64
	P90  float64
}

// Durations gives that of the newest jobs, so many of all types together.
func (l Look) Durations(ctx context.Context, newest int) ([]DurationRow, error) {
	rows, err := collect[DurationRow](ctx, l.db, lookDurationsSQL, newest)
	if err != nil {
		return nil, fmt.Errorf("read how long jobs took: %w", err)
	}
	return rows, nil
}
