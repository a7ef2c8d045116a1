package store

import (
	"context"
	"fmt"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookLocksSQL     = sql.Query("look_locks")
	lookLockedSQL    = sql.Query("look_locked")
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

// LockedRow is a job with locks, as the policy sees it.
type LockedRow struct {
	ID       scheduler.JobID
	Type     string
	State    scheduler.JobState
	Priority int
	Locks    []string
	Age      float64 // in seconds, since it was submitted
	Runs     float64 // and since it runs
}

// Locked gives what the policy has to know of these jobs.
func (l Look) Locked(ctx context.Context, ids []scheduler.JobID) ([]LockedRow, error) {
	jobs, err := collect[LockedRow](ctx, l.db, lookLockedSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("read jobs with locks: %w", err)
	}
	return jobs, nil
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
