package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookSubmitSQL  = sql.Query("look_submit")
	lookReleaseSQL = sql.Query("look_release")
	lookCancelSQL  = sql.Query("look_cancel")
	lookRetrySQL   = sql.Query("look_retry")
	lookKickSQL    = sql.Query("look_kick")
)

// Submission is a job to be. Nil and zero fields are left to the columns' defaults.
type Submission struct {
	Type         scheduler.TypeName
	Args         *string
	MSQ          *string
	Repeat       *string
	RunOn        *string
	Key          *string
	Priority     int
	PriorityName *string
	RunAt        *time.Time
	RunIn        *time.Duration // from now on the database's clock; counts when RunAt is nil
	Held         bool
	Vars         map[string]string
	Locks        []string
	MaxAttempts  int32 // 0: 1
	Timeout      *time.Duration
}

// Submit adds a job and gives its id; a key that exists with the same content
// gives the id of the job that has it. What the queue refuses is an error with
// an SQL code of class 23 and, mostly, the name of the constraint.
func (l Look) Submit(ctx context.Context, s Submission) (scheduler.JobID, error) {
	var vars *string
	if len(s.Vars) > 0 {
		text, err := json.Marshal(s.Vars)
		if err != nil {
			return 0, fmt.Errorf("submit: %w", err)
		}
		v := string(text)
		vars = &v
	}
	var locks []string // nil is NULL
	if len(s.Locks) > 0 {
		locks = s.Locks
	}
	rows, err := l.db.Query(ctx, lookSubmitSQL, s.Type, s.Args, s.MSQ, s.Repeat, s.RunOn, s.Key, s.Priority, s.PriorityName,
		s.RunAt, milliseconds(s.RunIn), s.Held, vars, locks, max(s.MaxAttempts, 1), milliseconds(s.Timeout))
	if err != nil {
		return 0, fmt.Errorf("submit: %w", err)
	}
	id, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[scheduler.JobID])
	if err != nil {
		return 0, fmt.Errorf("submit: %w", err)
	}
	return id, nil
}

func milliseconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// Change is what an order did to a job.
type Change struct {
	ID    scheduler.JobID    `json:"id"`
	Was   scheduler.JobState `json:"-"`
	State scheduler.JobState `json:"state"`
}

// Release lets a held job run. Any other stays as it is.
func (l Look) Release(ctx context.Context, id scheduler.JobID) (change Change, ok bool, err error) {
	return l.change(ctx, "release", lookReleaseSQL, id)
}

// Cancel ends a job that waits, and asks one that runs to stop; with now its
// processes are killed without a grace. A final job stays as it is.
func (l Look) Cancel(ctx context.Context, id scheduler.JobID, now bool) (change Change, ok bool, err error) {
	return l.change(ctx, "cancel", lookCancelSQL, id, now)
}

// Retry opens a new attempt at a final job. Any other stays as it is.
func (l Look) Retry(ctx context.Context, id scheduler.JobID) (change Change, ok bool, err error) {
	return l.change(ctx, "retry", lookRetrySQL, id)
}

// change gives ok false when there is no such job.
func (l Look) change(ctx context.Context, verb, text string, args ...any) (Change, bool, error) {
	changes, err := collect[Change](ctx, l.db, text, args...)
	if err != nil {
		return Change{}, false, fmt.Errorf("%s job %d: %w", verb, args[0], err)
	}
	if len(changes) == 0 {
		return Change{}, false, nil
	}
	return changes[0], true, nil
}

// Kick makes every instance look for work now.
func (l Look) Kick(ctx context.Context) error {
	rows, err := l.db.Query(ctx, lookKickSQL)
	if err != nil {
		return fmt.Errorf("kick: %w", err)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return fmt.Errorf("kick: %w", err)
	}
	return nil
}
