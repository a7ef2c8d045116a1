package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookSubmitSQL    = sql.Query("look_submit")
	lookNewSQL       = sql.Query("look_new")
	lookKickSQL      = sql.Query("look_kick")
	lookPauseSQL     = sql.Query("look_pause")
	lookResumeSQL    = sql.Query("look_resume")
	lookVersionOfSQL = sql.Query("look_version_of")
)

var submitArguments = argumentsOf[Submission]()

// Submission is a job to be. Nil and zero fields are left to the defaults of bellhop.submit. Its fields are the
// function's arguments; spans of time begin now on the database's clock.
type Submission struct {
	Type         scheduler.TypeName `json:"type"`
	Args         *string            `json:"-" sql:"args"` // as the caller's form has it: text, or JSON
	MSQ          *string            `json:"msq,omitempty"`
	Repeat       *string            `json:"repeat,omitempty"`
	RunOn        *string            `json:"run_on,omitempty"`
	Key          *string            `json:"key,omitempty"`
	Priority     int                `json:"priority,omitempty"`
	PriorityName *string            `json:"priority_name,omitempty"`
	RunAt        *time.Time         `json:"run_at,omitempty"`
	RunIn        *time.Duration     `json:"-" sql:"run_at,in"` // if RunAt is nil
	Held         bool               `json:"held,omitempty"`
	Vars         map[string]string  `json:"vars,omitempty"`
	Locks        []string           `json:"locks,omitempty"`
	Reasons      []string           `json:"reasons,omitempty"`      // tags that filters know it by
	MaxAttempts  int32              `json:"max_attempts,omitempty"` // 0: as its type says
	Timeout      *time.Duration     `json:"-" sql:"timeout,span"`
	OnFailure    *string            `json:"on_failure,omitempty"`
	After        []scheduler.JobID  `json:"after,omitempty"`      // what it needs, by id
	AfterKeys    []string           `json:"after_keys,omitempty"` // and by key
	Wanted       []string           `json:"wanted,omitempty"`     // the outcomes wanted of those; nil: succeeded
	NotAfter     *time.Time         `json:"not_after,omitempty"`  // it expires when it has not begun by then
	NotAfterIn   *time.Duration     `json:"-" sql:"not_after,in"`
	Once         *string            `json:"once,omitempty"`        // how long its key is taken; nil: ever
	Per          *time.Duration     `json:"-" sql:"per,span"`      // its key is that of a period
	Replace      bool               `json:"replace,omitempty"`     // what waits under its key gets this content
	Batch        *scheduler.JobID   `json:"batch,omitempty"`       // the job of its batch, which needs it
	Traceparent  *string            `json:"traceparent,omitempty"` // the submitter's context; nil: a trace of its own
}

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
