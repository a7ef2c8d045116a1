package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	fatesSQL = sql.Query("fates")
	lossSQL  = sql.Query("loss")
)

// LookBack asks the server that answers now what it has of runs, counts what is missing, and keeps that for operators
// where there is something to keep.
func (c *Claimer) LookBack(
	ctx context.Context, me scheduler.InstanceID, b scheduler.LookBack,
) (gone, again int, err error) {
	err = c.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, fatesSQL,
			column(b.Runs, func(r *scheduler.Run) int64 { return int64(r.Job) }),
			column(b.Runs, func(r *scheduler.Run) int64 { return int64(r.Fence) }),
			column(b.Runs, func(r *scheduler.Run) time.Time { return r.CreatedAt }),
			column(b.Runs, func(r *scheduler.Run) bool { return r.Over }))
		if err != nil {
			return err
		}
		fates, err := pgx.CollectRows(rows, pgx.RowTo[scheduler.Fate])
		if err != nil {
			return err
		}
		if gone, again = scheduler.Missing(b.Runs, fates, b.Asked); gone+again == 0 && b.Behind == 0 {
			return nil
		}
		_, err = conn.Exec(ctx, lossSQL, int64(me), b.Was, b.Server, gone, again, b.Behind.Milliseconds())
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("look back at what has run: %w", err)
	}
	return gone, again, nil
}
