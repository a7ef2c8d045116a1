package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var crowdsSQL, crowdsFreeSQL = sql.Query("crowds"), sql.Query("crowds_free")

// crowdMost is how far the jobs of a type are counted: no host makes room for
// more of them in one step.
const crowdMost = 64

// Crowds is what waits of the types that may run under one of the names, or
// under none. Of those in doubt, which cost a look that locks, that of which
// nothing waits but what somebody else has in hand is left out, and named. On
// the claimer's connection, which keeps to the indexes whatever the statistics
// say.
func (k *Keeper) Crowds(ctx context.Context, types, doubt []scheduler.TypeName, answers []string) (waiting []scheduler.Crowd, inHand []scheduler.TypeName, err error) {
	err = k.marks.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, crowdsSQL, types, answers, crowdMost)
		if err != nil {
			return err
		}
		if waiting, err = pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.Crowd]); err != nil || len(doubt) == 0 {
			return err
		}
		if rows, err = conn.Query(ctx, crowdsFreeSQL, doubt, answers); err != nil {
			return err
		}
		free, err := pgx.CollectRows(rows, pgx.RowTo[scheduler.TypeName])
		waiting = slices.DeleteFunc(waiting, func(w scheduler.Crowd) bool {
			held := slices.Contains(doubt, w.Type) && !slices.Contains(free, w.Type)
			if held {
				inHand = append(inHand, w.Type)
			}
			return held
		})
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look at what waits: %w", err)
	}
	return waiting, inHand, nil
}
