package store

import (
	"context"
	"encoding/json"

	"bellhop/scheduler"
	"bellhop/scheduler/history"
	"bellhop/sql"
	"bellhop/sql/view"
)

var historySQL = sql.Query("history")

// History writes what this instance did within minutes. The same minutes may be
// told again: they stand once.
func (r *Registry) History(ctx context.Context, me scheduler.InstanceID, minutes []history.Minute) error {
	if len(minutes) == 0 {
		return nil
	}
	rows := make([]view.HistoryRow, len(minutes))
	for i := range minutes {
		m := &minutes[i]
		rows[i] = view.HistoryRow{Minute: m.Minute, Type: m.Type, Counts: m.Counts, Wait: m.Wait.Pairs(), Run: m.Run.Pairs()}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return r.conn.exec(ctx, "write what was done", historySQL, int64(me), string(text))
}
