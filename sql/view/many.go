package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookPickSQL       = sql.Query("look_pick")
	lookPickCountSQL  = sql.Query("look_pick_count")
	lookCancelManySQL = sql.Query("look_cancel_many")
	lookReleaseSQL    = sql.Query("look_release")
	lookRetryManySQL  = sql.Query("look_retry_many")
	lookRetryFromSQL  = sql.Query("look_retry_from")
	lookEditSQL       = sql.Query("look_edit")
)

// sweepMost is how many jobs are changed by one transaction; sweepTries is how
// often one is tried that another transaction is in the way of.
const (
	sweepMost  = 1000
	sweepTries = 5
)

var editArguments = argumentsOf[Edit]()

// Edit is what is to change about jobs that wait. Nil leaves a value as it is.
type Edit struct {
	Priority     *int              `json:"priority,omitempty"`
	PriorityName *string           `json:"priority_name,omitempty"`
	RunAt        *time.Time        `json:"run_at,omitempty"` // one that has passed: now
	RunIn        *time.Duration    `json:"-" sql:"run_at,in"`
	Args         *string           `json:"-" sql:"args"`
	MaxAttempts  *int              `json:"max_attempts,omitempty"`
	Timeout      *time.Duration    `json:"-" sql:"timeout,span"`
	Hold         *bool             `json:"held,omitempty" sql:"hold"` // false releases
	NotAfter     *time.Time        `json:"not_after,omitempty"`       // Never: it does not expire
	NotAfterIn   *time.Duration    `json:"-" sql:"not_after,in"`
	RunOn        *string           `json:"run_on,omitempty"` // empty: anywhere
	Vars         map[string]string `json:"vars,omitempty"`   // all that it has from now on; nil leaves them
	MSQ          *string           `json:"msq,omitempty"`
	OnFailure    *string           `json:"on_failure,omitempty"`
}

// Picked is a job that an order is for.
type Picked struct {
	ID    scheduler.JobID    `json:"id"`
	Key   *string            `json:"key"`
	Type  scheduler.TypeName `json:"type"`
	State scheduler.JobState `json:"state"`
	Error *string            `json:"error"`
	Asked time.Time          `json:"-"`
}

// Pick gives some of the jobs that an order is for, and how many there are. Those
// of others are none of them, unless the account may change all.
func (l Look) Pick(ctx context.Context, f Filter, most int) (samples []Picked, n int64, err error) {
	n, err = value[int64](ctx, l.db, "look for the jobs", lookPickCountSQL, f.States, sql.ListOrNull(f.Types))
	if err != nil {
		return nil, 0, err
	}
	samples, err = l.pick(ctx, f, 0, most, nil)
	return samples, n, err
}

var lookDependentsSQL = sql.Query("look_dependents")

// Dependents tells how many jobs need those that a filter lets through, by what
// becomes of them: failed, blocked, held or run if these are cancelled, else wait.
func (l Look) Dependents(ctx context.Context, f Filter, cancelled bool) (n map[string]int64, err error) {
	return value[map[string]int64](ctx, l.db, "count the jobs that need them",
		lookDependentsSQL, f.States, sql.ListOrNull(f.Types), cancelled)
}

func (l Look) pick(ctx context.Context, f Filter, past scheduler.JobID, most int, asked *time.Time) ([]Picked, error) {
	return collect[Picked](ctx, l.db, "look for the jobs",
		lookPickSQL, f.States, sql.ListOrNull(f.Types), int64(past), most, asked)
}

// Sweep carries an order out on the jobs that were there when it began, a
// thousand a transaction, and tells after each for how many it was so far.
// What was done before an error, or the end of ctx, stays so.
func (l Look) Sweep(
	ctx context.Context, f Filter,
	order func(ctx context.Context, ids []scheduler.JobID) ([]Change, error), told func(n int64),
) (n int64, err error) {
	var asked *time.Time
	for past := scheduler.JobID(0); ; {
		some, err := l.pick(ctx, f, past, sweepMost, asked)
		if err != nil {
			return n, err
		}
		if len(some) == 0 {
			return n, nil
		}
		past, asked = some[len(some)-1].ID, &some[0].Asked
		ids := make([]scheduler.JobID, len(some))
		for i := range some {
			ids[i] = some[i].ID
		}
		changes, err := order(ctx, ids)
		for try := 1; inTheWay(err) && try < sweepTries; try++ {
			changes, err = order(ctx, ids)
		}
		if err != nil {
			return n, err
		}
		n += int64(len(changes))
		told(n)
		if len(some) < sweepMost {
			return n, nil
		}
	}
}

// inTheWay: another transaction waited for what this one had, or would not let go.
func inTheWay(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "40P01" || said.Code == "55P03")
}

// CancelMany ends jobs that wait, and asks those that run to stop; with now their processes are killed without a grace.
// Final jobs stay as they are.
func (l Look) CancelMany(ctx context.Context, ids []scheduler.JobID, now bool) ([]Change, error) {
	return l.many(ctx, "cancel", lookCancelManySQL, ids, now)
}

// ReleaseMany lets held jobs run, in one transaction. Others stay as they are.
func (l Look) ReleaseMany(ctx context.Context, ids []scheduler.JobID) ([]Change, error) {
	return l.many(ctx, "release", lookReleaseSQL, ids)
}

// RetryMany opens a new attempt at final jobs, in one transaction. Others stay as they are.
func (l Look) RetryMany(ctx context.Context, ids []scheduler.JobID) ([]Change, error) {
	return l.many(ctx, "retry", lookRetryManySQL, ids)
}

// RetryFrom tries jobs once more that are over. Each first forgets a step of its work, and those that came after it.
func (l Look) RetryFrom(ctx context.Context, ids []scheduler.JobID, step string) ([]Change, error) {
	return l.many(ctx, "retry", lookRetryFromSQL, ids, step)
}

// Edit changes jobs that wait, in one transaction. Others stay as they are.
func (l Look) Edit(ctx context.Context, ids []scheduler.JobID, e Edit) ([]Change, error) {
	return l.edit(ctx, ids, e, nil)
}

// edit is Edit with arguments besides that differ from job to job.
func (l Look) edit(ctx context.Context, ids []scheduler.JobID, e Edit, each map[string][]*string) ([]Change, error) {
	texts, args, err := named(editArguments, e, []any{ids})
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	more, args := eachOf(each, args)
	return collect[Change](ctx, l.db, "edit", editCall(append(texts, more...)), args...)
}

func (l Look) many(ctx context.Context, verb, text string, ids []scheduler.JobID, args ...any) ([]Change, error) {
	if len(ids) == 1 { // what is said of an error names it
		verb = fmt.Sprintf("%s job %d", verb, ids[0])
	}
	return collect[Change](ctx, l.db, verb, text, append([]any{ids}, args...)...)
}
