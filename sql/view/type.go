package view

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	pageTypeSQL     = sql.Query("page_type")
	pageArrivalsSQL = sql.Query("page_arrivals")
)

// HistoryOf gives what was done of one type since a time, the newest minute first; instances apart.
func (l Look) HistoryOf(ctx context.Context, typ scheduler.TypeName, since time.Time) ([]HistoryRow, error) {
	return collect[HistoryRow](ctx, l.db, "read what was done", pageTypeSQL, typ, since)
}

// Arrivals is how many jobs were submitted within the last seconds.
type Arrivals struct {
	Jobs    int64
	Seconds float64 // 300, or less where more jobs came than are looked at
}

// Rate is how many jobs come each second.
func (a Arrivals) Rate() float64 { return float64(a.Jobs) / max(a.Seconds, 1) }

// Arrivals tells how many jobs were submitted lately, of one type or (empty) of all.
func (l Look) Arrivals(ctx context.Context, typ scheduler.TypeName) (Arrivals, error) {
	a, _, err := first(collect[Arrivals](ctx, l.db, "count what comes in", pageArrivalsSQL, sql.OrNull(typ)))
	return a, err
}
