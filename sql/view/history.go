package view

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/sql"
)

var lookHistorySQL = sql.Query("look_history")

// HistoryRow is what an instance did of a type within a minute.
type HistoryRow struct {
	Minute   time.Time          `json:"minute"`
	Type     scheduler.TypeName `json:"type"`
	Instance int64              `json:"instance"`
	history.Counts
	Wait []int32 `json:"wait"` // sketch.Pairs
	Run  []int32 `json:"run"`
}

// History gives what was done since a time, the newest minute first; instances
// and types apart. until zero: to this day. No types: all.
func (l Look) History(ctx context.Context, since, until time.Time, types []scheduler.TypeName) ([]HistoryRow, error) {
	var end *time.Time
	if !until.IsZero() {
		end = &until
	}
	if len(types) == 0 {
		types = nil
	}
	return collect[HistoryRow](ctx, l.db, "read what was done", lookHistorySQL, since, end, types)
}
