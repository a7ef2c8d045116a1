package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var crowdsSQL = sql.Query("crowds")

// crowdMost is how far the jobs of a type are counted: no host makes room for
// more of them in one step.
const crowdMost = 64

// Crowds is what waits of the types that may run under one of the names, or
// under none. On the claimer's connection, which keeps to the indexes whatever
// the statistics say.
func (k *Keeper) Crowds(ctx context.Context, types []scheduler.TypeName, answers []string) ([]scheduler.Crowd, error) {
	var list []scheduler.Crowd
	err := k.marks.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, crowdsSQL, types, answers, crowdMost)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[scheduler.Crowd])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at what waits: %w", err)
	}
	return list, nil
}
