package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var lookLogsSQL, lookFollowSQL = sql.Query("look_logs"), sql.Query("look_follow")

// followEvery is how often a follower renews its registration: an instance remembers it for three times as long.
const followEvery = 5 * time.Second

// lateLines is how far behind the newest line a late one is still looked for.
// Lines are committed in batches, and two instances may write about one job
// while it changes hands: ids are not the order of commits.
const lateLines = 1000

// LogReader reads what was said about a job, each line once. Use it from one
// goroutine.
type LogReader struct {
	look Look
	// Job is whose lines are read, Levels which of them.
	Job    scheduler.JobID
	Levels []scheduler.Level
	// Attempt limits it to one attempt; 0: those From and later.
	Attempt int
	From    int
	// Follow has what the job writes elsewhere fetched as long as Next is called.
	Follow   bool
	followed time.Time // when that was last said
	newest   int64
	seen     []int64 // ids within lateLines of newest
}

// Logs returns a reader that has read nothing yet.
func (l Look) Logs(job scheduler.JobID, levels ...scheduler.Level) *LogReader {
	return &LogReader{look: l, Job: job, Levels: levels}
}

// Through goes on over another connection, after the first was lost.
func (r *LogReader) Through(l Look) { r.look = l }

// logPage is how many lines are read at once. More than lateLines, so that
// each page brings something new.
const logPage = 5 * lateLines

// Next gives the next lines, those that came late among them; more says that
// there are further ones already. When it is false, all lines that were
// committed before the call have been given.
func (r *LogReader) Next(ctx context.Context) (lines []LogRow, more bool, err error) {
	var attempt *int
	if r.Attempt > 0 {
		attempt = &r.Attempt
	}
	if r.Follow && time.Since(r.followed) >= followEvery {
		doing := fmt.Sprintf("follow the log of job %d", r.Job)
		if _, err := value[string](ctx, r.look.db, doing, lookFollowSQL, r.Job); err != nil {
			return nil, false, err
		}
		r.followed = time.Now()
	}
	lines, err = collect[LogRow](ctx, r.look.db, fmt.Sprintf("read the log of job %d", r.Job),
		lookLogsSQL, r.Job, attempt, r.From, r.Levels, r.newest-lateLines, logPage)
	if err != nil {
		return nil, false, err
	}
	more = len(lines) == logPage
	lines = slices.DeleteFunc(lines, func(l LogRow) bool { return slices.Contains(r.seen, l.ID) })
	for _, l := range lines {
		r.newest = max(r.newest, l.ID)
		r.seen = append(r.seen, l.ID)
	}
	r.seen = slices.DeleteFunc(r.seen, func(id int64) bool { return id <= r.newest-lateLines })
	return lines, more, nil
}
