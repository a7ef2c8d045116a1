package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var reloadedSQL = sql.Query("reloaded")

// Reloaded tells how the instance took its configuration.
func (r *Registry) Reloaded(ctx context.Context, me scheduler.InstanceID, failed bool, said string) error {
	err := r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, reloadedSQL, int64(me), failed, said)
		return err
	})
	if err != nil {
		return fmt.Errorf("tell of the reload: %w", err)
	}
	return nil
}
