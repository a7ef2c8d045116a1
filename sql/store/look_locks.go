package store

import (
	"context"
	"fmt"

	"bellhop/sql"
)

var lookLocksSQL = sql.Query("look_locks")

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
