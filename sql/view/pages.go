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
	pageRightsSQL = sql.Query("page_rights")
	pageQueueSQL  = sql.Query("page_queue")
	pageJobsSQL   = strings.Replace(sql.Query("page_jobs"), "{columns}",
		strings.Replace(columnsOf[JobRow](), "j.error,", "left(j.error, 2000) as error,", 1), 1)
	pageLogSQL    = sql.Query("page_log")
	pageFailedSQL = sql.Query("page_failed")
	pageComingSQL = sql.Query("page_coming")
	pageWhySQL    = sql.Query("page_why")
)

// May is what the caller may do.
type May struct{ Operates, Reads, Submits bool }

// May tells what the session's role may do, so that nothing is offered that would be refused.
func (l Look) May(ctx context.Context) (May, error) {
	may, _, err := first(collect[May](ctx, l.db, "look at the rights of this role", pageRightsSQL))
	return may, err
}

// WaitRow is how many jobs of a type are in a state; of what is ready also the
// next one, since when that waits, and what for.
type WaitRow struct {
	QueueRow
	First *scheduler.JobID
	Age   float64
}

// CountMost is how many jobs of one type are counted at most.
const CountMost = 10_000

// Waits gives the queue at a glance.
func (l Look) Waits(ctx context.Context) ([]WaitRow, error) {
	return collect[WaitRow](ctx, l.db, "look at the queue", pageQueueSQL)
}

// WhyRow is the first reason of a job that waits.
type WhyRow struct {
	ID scheduler.JobID
	ReasonRow
	Stuck bool // waiting alone does not change it
}

// Why gives the first reason of each of some jobs.
func (l Look) Why(ctx context.Context, ids []scheduler.JobID) ([]WhyRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return collect[WhyRow](ctx, l.db, "explain jobs", pageWhySQL, ids)
}

// open are the states that indexes hold.
var open = []scheduler.JobState{scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready,
	scheduler.Assigned, scheduler.Running, scheduler.Failed, scheduler.Quarantined}

// pageIndexed is how many rows of each index are looked at.
const pageIndexed = 2000

// Unfinished is Page for jobs that are not over, or failed, however old: as long as there are few, it finds them by
// the indexes that hold them, and not among the newest. Without states it is all of them.
func (l Look) Unfinished(ctx context.Context, f JobFilter, before *int64, limit int) ([]JobRow, *int64, error) {
	if len(f.States) == 0 {
		f.States = open
	}
	for _, s := range f.States {
		if s == scheduler.Succeeded || s == scheduler.Cancelled {
			return l.Page(ctx, f, before, limit)
		}
	}
	rows, err := planOnce[struct {
		JobRow
		Looked bool
	}](ctx, l.db, "list jobs", pageJobsSQL, f.States, sql.ListOrNull(f.Types), likePrefix(f.Key), sql.OrNull(f.Error),
		before, pageIndexed, limit+1, f.Run, f.CreatedAfter, f.CreatedBefore)
	if err != nil {
		return nil, nil, err
	}
	if len(rows) > 0 && rows[0].Looked { // there are more: these may not be the newest
		return l.Page(ctx, f, before, limit)
	}
	jobs := make([]JobRow, 0, len(rows))
	for i := range rows[:min(len(rows), limit)] {
		jobs = append(jobs, rows[i].JobRow)
	}
	if len(rows) <= limit {
		return jobs, nil, nil
	}
	last := int64(jobs[limit-1].ID)
	return jobs, &last, nil
}

// UnfinishedOwn is Unfinished for a caller that sees only its own jobs: the barrier before other jobs has no index.
func (l Look) UnfinishedOwn(ctx context.Context, f JobFilter, before *int64, limit int) ([]JobRow, *int64, error) {
	if len(f.States) == 0 {
		f.States = open
	}
	return l.Page(ctx, f, before, limit)
}

func likeWords(words string) *string {
	if words == "" {
		return nil
	}
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(words) + "%"
	return &like
}

// LineFilter says which lines of a log are shown: of an attempt (0: of any), of
// levels, with these words (empty: all), before one (nil: the last).
type LineFilter struct {
	Attempt int
	Levels  []scheduler.Level
	Words   string
	Before  *int64
}

// LastLines gives the last lines said about a job, oldest first, of each its first characters.
func (l Look) LastLines(
	ctx context.Context, job scheduler.JobID, f LineFilter, most, width int,
) ([]LogRow, error) {
	return collect[LogRow](ctx, l.db, fmt.Sprintf("read the log of job %d", job), pageLogSQL,
		job, sql.OrNull(f.Attempt), f.Levels, likeWords(f.Words), most, width, f.Before)
}

// FailedRow is jobs of a type that failed on a host with the same words.
type FailedRow struct {
	Type    scheduler.TypeName
	Error   string // of one of them, as it is
	Masked  string // what all of a group say: bellhop.masked
	Host    *string
	FirstAt *time.Time
	LastAt  *time.Time
	Jobs    []scheduler.JobID // the newest first
	Behind  int64             // jobs that needed one of these, and so never ran
}

// Span is a time that lasted from so long ago until so long ago; 0: from whenever, until now.
type Span struct{ Since, Until time.Duration }

// LatestFailed gives jobs that failed, those together that say the same on the same
// host: the newest of each kind, most of each at most, within a span of time.
func (l Look) LatestFailed(ctx context.Context, most int, within Span) ([]FailedRow, error) {
	ago := func(d time.Duration) *float64 {
		if d == 0 {
			return nil
		}
		s := d.Seconds()
		return &s
	}
	return planOnce[FailedRow](ctx, l.db, "read what failed", pageFailedSQL, most, ago(within.Since), ago(within.Until))
}

// ComingRow is how much the clock starts in a minute: jobs of a type, or a workflow.
type ComingRow struct {
	Name     string
	Workflow bool
	Minute   time.Time
	N        int64
}

// Coming tells what the clock starts within an hour.
func (l Look) Coming(ctx context.Context) ([]ComingRow, error) {
	return planOnce[ComingRow](ctx, l.db, "read what comes", pageComingSQL)
}
