package view

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	pageUsualSQL    = sql.Query("page_usual")
	pageGridSQL     = sql.Query("page_grid")
	pageLastRunsSQL = sql.Query("page_last_runs")
)

// UsualRow is how long a step of a workflow, or (nil) a run of it, usually takes.
type UsualRow struct {
	Step    *string
	Seconds float64
}

// Usual gives the medians of the last runs of a workflow that succeeded, before one of its runs.
func (l Look) Usual(ctx context.Context, workflow string, run int64) ([]UsualRow, error) {
	return collect[UsualRow](ctx, l.db, "read how long runs take", pageUsualSQL, workflow, run)
}

// GridRow is a step of one of the last runs of a workflow.
type GridRow struct {
	Run       int64
	Ended     string // the state of the run
	StartedAt *time.Time
	EndedAt   *time.Time
	Step      string
	Job       scheduler.JobID
	State     scheduler.JobState
	Attempt   int
}

// LastRunRow is a run of a workflow.
type LastRunRow struct {
	Workflow string
	ID       int64
	State    string
}

// LastRuns gives the last runs of each workflow, the oldest first, without those that were skipped.
func (l Look) LastRuns(ctx context.Context) ([]LastRunRow, error) {
	return collect[LastRunRow](ctx, l.db, "read the last runs of each workflow", pageLastRunsSQL)
}

// Grid gives the steps of the last runs of a workflow, the oldest run first.
func (l Look) Grid(ctx context.Context, workflow string) ([]GridRow, error) {
	return collect[GridRow](ctx, l.db, "read the last runs", pageGridSQL, workflow)
}
