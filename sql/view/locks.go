package view

import (
	"context"
	"time"

	"bellhop/sql"
)

var (
	lookLocksSQL = sql.Query("look_locks")
	lookHeadsSQL = sql.Query("look_lock_heads")
)

// LockRow is a job that holds a lock, or waits behind it.
type LockRow struct {
	Level      string    `json:"level"` // empty, as Name: of What "next"
	Name       string    `json:"name"`  // * is every name, ? one that is not known
	Mode       string    `json:"mode"`  // of its job: exclusive, shared, or slot (a place within a limit)
	What       string    `json:"what"`  // holds; asks (it runs, and waits for it); waits; next: the next pass looks at it
	Job        int64     `json:"job"`
	Type       string    `json:"type"`
	Instance   int64     `json:"instance"` // of one that runs
	Fence      int64     `json:"fence"`
	Since      time.Time `json:"since"` // it has the lock, asks for it, or was submitted
	Age        float64   `json:"age"`   // in seconds, since it has the lock, asks for it, or was submitted
	Place      int64     `json:"place"` // of a waiting one, from 1 on
	Item       bool      `json:"item"`  // of a job that asks: an item of its query does
	WaitingFor string    `json:"waiting_for"`
	Reserved   bool      `json:"reserved"` // it has waited so long that nothing younger starts in its way
}

// Locks gives the holders, and of each lock the first jobs that wait behind it.
func (l Look) Locks(ctx context.Context, most int) ([]LockRow, error) {
	return collect[LockRow](ctx, l.db, "list locks", lookLocksSQL, most)
}

// LockHead is a lock that is held or waited for.
type LockHead struct {
	Level   string   `json:"level"`
	Name    string   `json:"name"`
	Mode    string   `json:"mode"` // empty: not held
	Holders int64    `json:"holders"`
	Job     int64    `json:"job"`     // the job that has held it for the longest; 0: none
	Held    *float64 `json:"held"`    // for so many seconds
	Waiting int64    `json:"waiting"` // 1,000 are counted
	Oldest  *float64 `json:"oldest"`  // how long the oldest of them has waited, in seconds
}

// LockHeads gives so many locks, those first behind which most jobs wait.
func (l Look) LockHeads(ctx context.Context, most int) ([]LockHead, error) {
	return collect[LockHead](ctx, l.db, "list locks", lookHeadsSQL, most)
}
