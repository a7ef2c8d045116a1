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
	lookReloadSQL = sql.Query("look_reload")
	reloadedSQL   = sql.Query("reloaded")
)

// ReloadRow is a live instance, and how it took its configuration last.
type ReloadRow struct {
	ID           scheduler.InstanceID
	Name         string
	Hostname     string
	Machine      string
	Pid          int
	ProcessStart string
	ReloadedAt   *time.Time // nil: not since it began
	ReloadFailed bool
	ReloadSaid   string
}

// Reloads gives the live instances.
func (l Look) Reloads(ctx context.Context) ([]ReloadRow, error) {
	return collect[ReloadRow](ctx, l.db, "look at the instances", lookReloadSQL)
}

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
