package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/sql"
)

var (
	historySQL     = sql.Query("history")
	lookHistorySQL = sql.Query("look_history")
)

// HistoryRow is what an instance did of a type within a minute.
type HistoryRow struct {
	Minute   time.Time          `json:"minute"`
	Type     scheduler.TypeName `json:"type"`
	Instance int64              `json:"instance"`
	history.Counts
	Wait []int32 `json:"wait"` // sketch.Pairs
	Run  []int32 `json:"run"`
}

// History writes what this instance did within minutes. The same minutes may be
// told again: they stand once.
func (r *Registry) History(ctx context.Context, me scheduler.InstanceID, minutes []history.Minute) error {
	if len(minutes) == 0 {
		return nil
	}
	rows := make([]HistoryRow, len(minutes))
	for i := range minutes {
		m := &minutes[i]
		rows[i] = HistoryRow{Minute: m.Minute, Type: m.Type, Counts: m.Counts, Wait: m.Wait.Pairs(), Run: m.Run.Pairs()}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	err = r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, historySQL, int64(me), string(text))
		return err
	})
	if err != nil {
		return fmt.Errorf("write what was done: %w", err)
	}
	return nil
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
