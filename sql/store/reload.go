package store

import (
	"context"

	"bellhop/scheduler"
	"bellhop/sql"
)

var reloadedSQL = sql.Query("reloaded")

// Reloaded tells how the instance took its configuration.
func (r *Registry) Reloaded(ctx context.Context, me scheduler.InstanceID, failed bool, said string) error {
	return r.conn.exec(ctx, "tell of the reload", reloadedSQL, int64(me), failed, said)
}
