package view

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookReloadSQL = sql.Query("look_reload")

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
