package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler/lock"
	"bellhop/sql"
	"bellhop/sql/view"
)

// Forecaster measures the error of forecasts for jobs that wait for locks: it foretells as explain does, and looks
// when they start. It shares a session with Metrics, so that scheduling does not wait for it.
type Forecaster struct {
	conn     *connection
	counts   *Counts
	missed   func(horizon string, by time.Duration)
	promised func(Promised)
	foretold lock.Foretold
}

// Promised is what became of a promise: kept, missed, void, in_danger, or safe again.
type Promised struct {
	Job  int64
	By   time.Time
	What string
	Why  string
}

// NewForecaster returns one that tells of what it finds. It is used by one at a time.
func NewForecaster(session *Metrics, counts *Counts, missed func(horizon string, by time.Duration),
	promised func(Promised)) *Forecaster {
	return &Forecaster{conn: session.conn, counts: counts, missed: missed, promised: promised}
}

// forecastMost is how many waiting jobs are looked at: as many as by explain.
const forecastMost = 10_000

var forecastStartedSQL = sql.Query("forecast_started")

// Foretell looks which promises are over, and, as a whole, which of the jobs that were foretold have started; it
// foretells anew.
func (f *Forecaster) Foretell(ctx context.Context, whole bool) error {
	err := f.conn.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := f.settle(ctx, conn); err != nil || !whole {
			return err
		}
		if err := f.compare(ctx, conn); err != nil {
			return err
		}
		if err := f.promises(ctx, conn); err != nil {
			return err
		}
		look := view.NewLook(conn)
		sketches, err := look.Sketches(ctx)
		if err != nil || len(sketches.Took) == 0 {
			return err
		}
		scene, err := look.Scene(ctx, forecastMost, 0)
		if err != nil {
			return err
		}
		f.foretold.Remember(scene.Starts(sketches.Lasts), scene.Now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("foretell when jobs start: %w", err)
	}
	return nil
}

// compare looks at those of which something is remembered.
func (f *Forecaster) compare(ctx context.Context, conn *pgx.Conn) error {
	jobs := f.foretold.Jobs()
	if len(jobs) == 0 {
		return nil
	}
	rows, _ := conn.Query(ctx, forecastStartedSQL, jobs) // CollectRows gives its error
	seen, err := pgx.CollectRows(rows, pgx.RowToStructByName[struct {
		ID    lock.ID
		Ago   *float64
		Waits bool
	}])
	if err != nil {
		return fmt.Errorf("compare forecasts: %w", err)
	}
	now, waits := time.Now(), map[lock.ID]bool{}
	for _, r := range seen {
		waits[r.ID] = r.Waits
		if r.Ago == nil {
			continue
		}
		at := now.Add(-time.Duration(*r.Ago * float64(time.Second)))
		if miss, known := f.foretold.Started(r.ID, at); known {
			horizon := lock.Horizon(miss.Ahead)
			f.counts.Off.Count(horizon, miss.By)
			f.missed(horizon, miss.By)
		}
	}
	for _, id := range jobs {
		if !waits[id] {
			f.foretold.Forget(id)
		}
	}
	return nil
}
