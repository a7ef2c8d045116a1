package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var beatHeldSQL = sql.Query("beat_held")

// RowHeld is a heartbeat that another transaction keeps from being written: it has locked the instance's row. A
// heartbeat does not pass by such a lock. Written elsewhere, it would say that an instance lives which a burial, under
// the very same lock, has just found dead, and two instances would run its jobs.
type RowHeld struct {
	PID int
	Who string        // what it calls itself, or its login
	For time.Duration // how long its transaction has been open
	Err error
}

func (h *RowHeld) Error() string {
	return fmt.Sprintf("process %d of the database (%s, for %v) has locked this instance's row of bellhop.instance",
		h.PID, h.Who, h.For.Round(time.Second))
}
func (h *RowHeld) Unwrap() error { return h.Err }

// Mend says what to type.
func (h *RowHeld) Mend() string {
	return fmt.Sprintf("it goes with its transaction: select pg_terminate_backend(%d)", h.PID)
}

// heldBy names the process that holds the instance's row, where a heartbeat did not get it in time.
func heldBy(ctx context.Context, conn *pgx.Conn, me scheduler.InstanceID, err error) error {
	if !busy(err) {
		return err
	}
	held := &RowHeld{Err: err}
	var seconds *float64
	if conn.QueryRow(ctx, beatHeldSQL, int64(me)).Scan(&held.PID, &held.Who, &seconds) != nil {
		return err // it has gone since
	}
	if seconds != nil {
		held.For = time.Duration(*seconds * float64(time.Second))
	}
	return held
}
