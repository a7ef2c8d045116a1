package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

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
	err = r.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, historySQL, int64(me), string(text))
		return err
	})
	if err != nil {
		return fmt.Errorf("write what was done: %w", err)
	}
	return nil
}
