package view

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookSubmitSQL    = sql.Query("look_submit")
	lookNewSQL       = sql.Query("look_new")
	lookKickSQL      = sql.Query("look_kick")
	lookEmitSQL      = sql.Query("look_emit")
	lookPauseSQL     = sql.Query("look_pause")
	lookResumeSQL    = sql.Query("look_resume")
	lookVersionOfSQL = sql.Query("look_version_of")
)

var submitArguments = argumentsOf[Submission]()

// Submit adds a job and gives its id; a key that exists with the same content
// gives the id of the job that has it. What the queue refuses is an error with
// an SQL code of class 23 and, mostly, the name of the constraint.
func (l Look) Submit(ctx context.Context, s Submission) (scheduler.JobID, error) {
	text, args, err := s.call()
	if err != nil {
		return 0, err
	}
	return value[scheduler.JobID](ctx, l.db, "submit", text, args...)
}

// IsNew tells whether a job was submitted by this transaction: there was no job of its key before.
func (l Look) IsNew(ctx context.Context, id scheduler.JobID) (is bool, err error) {
	return value[bool](ctx, l.db, "look whether a job is new", lookNewSQL, int64(id))
}

// call is the statement that submits the job, and its parameters.
func (s Submission) call() (text string, args []any, err error) {
	if len(s.Vars) == 0 {
		s.Vars = nil
	}
	texts, args, err := named(submitArguments, s, nil)
	if err != nil {
		return "", nil, fmt.Errorf("submit: %w", err)
	}
	return strings.Replace(lookSubmitSQL, "{arguments}", strings.Join(texts, ", "), 1), args, nil
}

// Change is what an order did to a job.
type Change struct {
	ID    scheduler.JobID    `json:"id"`
	Was   scheduler.JobState `json:"was"`
	State scheduler.JobState `json:"state"` // as it is now
}

// Asked reports, of a cancel, whether the job runs and is asked to stop: it is
// cancelled when its processes are dead, and not before.
func (c Change) Asked() bool { return c.State == scheduler.Running }

// Waits reports, of an edit, whether the job was one that could be changed: that is settled
// under a lock, and what has begun or is over stays as it is.
func (c Change) Waits() bool {
	switch c.State {
	case scheduler.Held, scheduler.Blocked, scheduler.Scheduled, scheduler.Ready:
		return true
	}
	return false
}

// VersionOf is another text whenever something of a job has changed that Edit changes and a JobRow does not have;
// nil for a caller that may not change it.
func (l Look) VersionOf(ctx context.Context, id scheduler.JobID) (text *string, err error) {
	return value[*string](ctx, l.db, "read the version of a job", lookVersionOfSQL, id)
}

var lookRetryBehindSQL = sql.Query("look_retry_behind")

// RetryBehind tries a job once more that is over, and those that need it, by way of others too, and are over. It gives
// what became of the first of them, and how many they are; ok false: there is no such job.
func (l Look) RetryBehind(ctx context.Context, id scheduler.JobID) (c Change, count int, ok bool, err error) {
	was, ok, err := l.Job(ctx, id)
	if err != nil || !ok {
		return Change{}, 0, false, err
	}
	n, err := value[*int](ctx, l.db, "retry from a job on", lookRetryBehindSQL, id)
	if err != nil || n == nil {
		return Change{}, 0, false, err
	}
	is, ok, err := l.Job(ctx, id)
	return Change{ID: id, Was: was.State, State: is.State}, *n, ok, err
}

// Kick makes every instance look for work now.
func (l Look) Kick(ctx context.Context) error {
	_, err := value[bool](ctx, l.db, "kick", lookKickSQL)
	return err
}

// Emit tells the jobs that await the event. first is false if it was emitted before: then nothing changes.
func (l Look) Emit(ctx context.Context, event string, payload *string) (first bool, err error) {
	return value[bool](ctx, l.db, "emit", lookEmitSQL, event, payload)
}

// Pause lets no job of a type start any more (nil: none at all).
func (l Look) Pause(ctx context.Context, t *scheduler.TypeName) error {
	_, err := value[bool](ctx, l.db, "pause", lookPauseSQL, t)
	return err
}

// Resume lets jobs of a type start again (nil: all). It tells whether that was
// paused, and whether everything still is.
func (l Look) Resume(ctx context.Context, t *scheduler.TypeName) (was, still bool, err error) {
	type answer struct{ Was, Still bool }
	rows, err := l.db.Query(ctx, lookResumeSQL, t)
	if err != nil {
		return false, false, fmt.Errorf("resume: %w", err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[answer])
	if err != nil {
		return false, false, fmt.Errorf("resume: %w", err)
	}
	return a.Was, a.Still, nil
}
