package view

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookAwaitSQL = sql.Query("look_await")

// Await tells the instances that a client waits for the end of jobs: for 15 s from now, the instance that records
// it rings for HearEnds.
func (l Look) Await(ctx context.Context, ids []scheduler.JobID) error {
	_, err := value[string](ctx, l.db, "await jobs", lookAwaitSQL, scheduler.JobIDLists(ids))
	return err
}

// HearEnds calls heard with awaited jobs that are over, and once with none when it has begun to listen. It is all
// that happens on conn, and ends with it or with ctx.
func HearEnds(ctx context.Context, conn *pgx.Conn, heard func([]scheduler.JobID)) error {
	if _, err := conn.Exec(ctx, "listen bellhop_over"); err != nil {
		return fmt.Errorf("listen for ends: %w", err)
	}
	for heard(nil); ; {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen for ends: %w", err)
		}
		heard(scheduler.JobIDs(n.Payload))
	}
}
