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

// promisesMost is how many open promises are looked at, the next ones first.
const promisesMost = 1000

var (
	promisesSettleSQL = sql.Query("promises_settle")
	promisesOpenSQL   = sql.Query("promises_open")
	promiseDangerSQL  = sql.Query("promise_danger")
)

// openPromise is a promise of a job that has not ended.
type openPromise struct {
	Job     int64
	By      time.Time
	Danger  bool
	Expires *time.Time // if it has not begun by then; nil: it has begun, or waits for as long as it takes
}

// expired reports whether the job would expire by a forecast, and never begin.
func (p openPromise) expired(by lock.Span) bool {
	return p.Expires != nil && !by.Start.Before(*p.Expires)
}

// settle decides the promises that are over.
func (f *Forecaster) settle(ctx context.Context, conn *pgx.Conn) error {
	rows, _ := conn.Query(ctx, promisesSettleSQL) // CollectRows gives its error
	over, err := pgx.CollectRows(rows, pgx.RowToStructByName[Promised])
	if err != nil {
		return fmt.Errorf("settle promises: %w", err)
	}
	for _, p := range over {
		f.promised(p)
	}
	return nil
}

// promises tells which of the open ones a forecast passes.
func (f *Forecaster) promises(ctx context.Context, conn *pgx.Conn) error {
	var until time.Time
	open, err := f.open(ctx, conn)
	if err != nil || len(open) == 0 {
		return err
	}
	for _, p := range open {
		if p.By.After(until) {
			until = p.By
		}
	}
	ahead, err := view.NewLook(conn).Ahead(ctx, until)
	if err != nil {
		return err
	}
	half, most := ahead.Play(.5), ahead.Play(.9)
	// What has ended since the first look is not there any more, and in no danger.
	if open, err = f.open(ctx, conn); err != nil {
		return err
	}
	for _, p := range open {
		if err := f.judge(ctx, conn, p, half, most); err != nil {
			return err
		}
	}
	return nil
}

func (f *Forecaster) open(ctx context.Context, conn *pgx.Conn) ([]openPromise, error) {
	rows, _ := conn.Query(ctx, promisesOpenSQL, promisesMost) // CollectRows gives its error
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[openPromise])
	if err != nil {
		return nil, fmt.Errorf("read promises: %w", err)
	}
	return list, nil
}

// judge tells that a promise is in danger: in half of the cases its job ends after its time, or expires before it
// begins. It is safe again when nine of ten end before.
func (f *Forecaster) judge(ctx context.Context, conn *pgx.Conn, p openPromise, half, most map[lock.ID]lock.Span) error {
	if half == nil { // it is not known how long any job takes
		return nil
	}
	why, danger := "", false
	about, runs := half[lock.ID(p.Job)]
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
	switch late := most[lock.ID(p.Job)]; {
	case !runs:
		danger, why = true, "when it starts is not known: it waits for something that no forecast knows the end of"
	case p.expired(about):
		danger = true
		why = fmt.Sprintf("by the forecast it starts about %s and expires at %s", at(about.Start), at(*p.Expires))
	case about.End.After(p.By):
		danger = true
		why = fmt.Sprintf("by the forecast it starts about %s and ends about %s", at(about.Start), at(about.End))
	case late.End.After(p.By), p.expired(late):
		return nil // between the two nothing new is told
	}
	if danger == p.Danger {
		return nil
	}
	var news bool
	if err := conn.QueryRow(ctx, promiseDangerSQL, p.Job, danger, why).Scan(&news); err != nil {
		return fmt.Errorf("record a promise in danger: %w", err)
	}
	if what := map[bool]string{true: "in_danger", false: "safe"}[danger]; news {
		f.promised(Promised{Job: p.Job, By: p.By, What: what, Why: why})
	}
	return nil
}
