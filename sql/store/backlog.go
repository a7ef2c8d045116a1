package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var backlogSQL, backlogFreeSQL = sql.Query("backlog"), sql.Query("backlog_free")

// backlogMost is how far the jobs of a type are counted: no host makes room for
// more of them in one step.
const backlogMost = 64

// Backlog is what waits of the types that may run under one of the names, or under none. The types in doubt cost a
// look that locks: those whose waiting rows are all locked by other sessions are left out, and named. It runs on
// the claimer's connection, which keeps to the indexes whatever the statistics say.
func (k *Maintenance) Backlog(
	ctx context.Context, types, doubt []scheduler.TypeName, answers []string,
) (waiting []scheduler.Backlog, locked []scheduler.TypeName, err error) {
	err = k.explained.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, backlogSQL, types, answers, backlogMost)
		if err != nil {
			return err
		}
		if waiting, err = pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.Backlog]); err != nil || len(doubt) == 0 {
			return err
		}
		if rows, err = conn.Query(ctx, backlogFreeSQL, doubt, answers); err != nil {
			return err
		}
		free, err := pgx.CollectRows(rows, pgx.RowTo[scheduler.TypeName])
		waiting = slices.DeleteFunc(waiting, func(w scheduler.Backlog) bool {
			held := slices.Contains(doubt, w.Type) && !slices.Contains(free, w.Type)
			if held {
				locked = append(locked, w.Type)
			}
			return held
		})
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look at what waits: %w", err)
	}
	return waiting, locked, nil
}
