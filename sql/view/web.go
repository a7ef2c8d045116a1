package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	webJobsSQL     = strings.Replace(sql.Query("web_jobs"), "{columns}", columnsOf[JobRow](), 1)
	webHorizonSQL  = sql.Query("web_jobs_horizon")
	webReaderSQL   = sql.Query("web_reader")
	webFailuresSQL = sql.Query("web_failures")
	webItemsSQL    = sql.Query("web_items")
	webPausedSQL   = sql.Query("web_paused")
	webStatsSQL    = sql.Query("web_stats")
)

// JobFilter says which jobs a page shows. Nil and empty fields let all through.
type JobFilter struct {
	States        []scheduler.JobState
	Types         []scheduler.TypeName
	Key           string // a prefix
	Error         string // a part of it
	Run           *int64
	Host          string
	CreatedAfter  *time.Time // at it, or later
	CreatedBefore *time.Time
}

// likePrefix is a pattern of LIKE for what begins with a text; nil: any.
func likePrefix(prefix string) *string {
	if prefix == "" {
		return nil
	}
	p := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(prefix) + "%"
	return &p
}

// Page gives at most limit of the jobs before an id (nil: the newest), newest first, and
// behind which id the next page begins; nil: there is none. It looks at 50,000 at the
// most: a page may be short, or empty, and still have a next one.
func (l Look) Page(ctx context.Context, f JobFilter, before *int64, limit int) (jobs []JobRow, next *int64, err error) {
	text, horizon, err := l.seen(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err = planOnce[JobRow](ctx, l.db, "list jobs", text, before, sql.ListOrNull(f.States), sql.ListOrNull(f.Types),
		likePrefix(f.Key), sql.OrNull(f.Error), f.Run, sql.OrNull(f.Host), f.CreatedAfter, f.CreatedBefore, limit)
	if err != nil {
		return nil, nil, err
	}
	if len(jobs) == limit {
		last := int64(jobs[limit-1].ID)
		return jobs, &last, nil
	}
	next, err = value[*int64](ctx, l.db, "list jobs", horizon, before)
	return jobs, next, err
}

// Reads reports whether the caller may see the jobs of others.
func (l Look) Reads(ctx context.Context) (bool, error) {
	return value[bool](ctx, l.db, "look whether this role reads", webReaderSQL)
}

// seen are the statements of a page: readers see every job by index, others their own through a barrier.
func (l Look) seen(ctx context.Context) (page, horizon string, err error) {
	reader, err := l.Reads(ctx)
	if reader || err != nil {
		return webJobsSQL, webHorizonSQL, err
	}
	own := func(text string) string { return strings.ReplaceAll(text, "bellhop.every_job", "bellhop.job") }
	return own(webJobsSQL), own(webHorizonSQL), nil
}

// FailureRow is what failed with one error, its numbers masked.
type FailureRow struct {
	Type    scheduler.TypeName `json:"type"`
	Error   string             `json:"error"`
	Jobs    int64              `json:"jobs"`
	Hosts   []string           `json:"hosts"`
	FirstAt *time.Time         `json:"first_at"`
	LastAt  *time.Time         `json:"last_at"`
	Newest  []int64            `json:"newest"`
}

// Failures groups what failed, the largest groups first.
func (l Look) Failures(ctx context.Context, most int) ([]FailureRow, error) {
	return collect[FailureRow](ctx, l.db, "list failures", webFailuresSQL, most)
}

// SeenItems is FailedItems for every caller that may see the job.
func (l Look) SeenItems(ctx context.Context, id scheduler.JobID, most int) ([]SeenItemRow, error) {
	return collect[SeenItemRow](ctx, l.db, fmt.Sprintf("read the failed items of job %d", id), webItemsSQL, id, most)
}

// PausedRow is a type that is paused; the empty one is everything.
type PausedRow struct {
	Type     string    `json:"type"`
	PausedAt time.Time `json:"paused_at"`
	PausedBy string    `json:"paused_by"`
}

// Paused lists what is paused.
func (l Look) Paused(ctx context.Context) ([]PausedRow, error) {
	return collect[PausedRow](ctx, l.db, "list what is paused", webPausedSQL)
}

// RecentStats is Stats over the 50,000 newest jobs.
func (l Look) RecentStats(ctx context.Context) ([]StatsRow, error) {
	return collect[StatsRow](ctx, l.db, "count jobs", webStatsSQL)
}
