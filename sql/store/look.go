package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
	"bellhop/sql"
)

// Querier is a connection or a pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Look is what people and their programs ask of the queue and order of it:
// the command line stands on it. It schedules nothing, and every statement is
// a transaction of its own. Its errors wrap pgx's.
type Look struct{ db Querier }

// NewLook looks through db.
func NewLook(db Querier) Look { return Look{db} }

var (
	lookFindSQL     = sql.Query("look_find")
	lookListSQL     = sql.Query("look_list")
	lookOwnListSQL  = strings.ReplaceAll(lookListSQL, "bellhop.every_job", "bellhop.job")
	lookJobSQL      = sql.Query("look_job")
	lookPayloadSQL  = sql.Query("look_payload")
	lookAttemptsSQL = sql.Query("look_attempts")
	lookLostSQL     = sql.Query("look_lost")
	lookItemsSQL    = sql.Query("look_items")
	lookOutcomesSQL = sql.Query("look_outcomes")
	lookResultSQL   = sql.Query("look_result")
	lookExplainSQL  = sql.Query("look_explain")
	lookNeedsSQL    = sql.Query("look_needs")
)

// Found is a job that a caller named by its id or its key.
type Found struct {
	ID  scheduler.JobID
	Key *string
}

// Find gives the jobs that have one of the ids or one of the keys, in no order.
// What does not exist is not among them.
func (l Look) Find(ctx context.Context, ids []scheduler.JobID, keys []string) ([]Found, error) {
	found, err := collect[Found](ctx, l.db, lookFindSQL, ids, keys)
	if err != nil {
		return nil, fmt.Errorf("find jobs: %w", err)
	}
	return found, nil
}

// Filter says which jobs Jobs lists.
type Filter struct {
	States []scheduler.JobState
	Types  []scheduler.TypeName // none: every type
	Limit  int                  // how many at most, the newest; 0: all
}

// Jobs lists jobs in the order of their ids.
func (l Look) Jobs(ctx context.Context, f Filter) ([]JobRow, error) {
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	var types []scheduler.TypeName // nil is NULL: no filter
	if len(f.Types) > 0 {
		types = f.Types
	}
	jobs, err := collect[JobRow](ctx, l.db, lookListSQL, f.States, types, limit)
	if denied(err) { // a submitter is not a reader: it sees its own jobs, through their barrier
		jobs, err = collect[JobRow](ctx, l.db, lookOwnListSQL, f.States, types, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return jobs, nil
}

// denied reports that the role lacks a right that the statement needs.
func denied(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "42501"
}

// Job gives one job; ok is false when there is none.
func (l Look) Job(ctx context.Context, id scheduler.JobID) (job JobRow, ok bool, err error) {
	jobs, err := collect[JobRow](ctx, l.db, lookJobSQL, id)
	if err != nil {
		return job, false, fmt.Errorf("read job %d: %w", id, err)
	}
	if len(jobs) == 0 {
		return job, false, nil
	}
	return jobs[0], true, nil
}

// Payloads gives what only operators may see of jobs: their texts (the first
// width characters; 0: all) and variables. Readers get the error code 42501.
func (l Look) Payloads(ctx context.Context, ids []scheduler.JobID, width int) (map[scheduler.JobID]PayloadRow, error) {
	var limit *int
	if width > 0 {
		limit = &width
	}
	rows, err := collect[PayloadRow](ctx, l.db, lookPayloadSQL, ids, limit)
	if err != nil {
		return nil, fmt.Errorf("read the arguments of jobs: %w", err)
	}
	payloads := make(map[scheduler.JobID]PayloadRow, len(rows))
	for _, p := range rows {
		payloads[p.Job] = p
	}
	return payloads, nil
}

// Attempts gives every try at a job, the running one included, oldest first.
func (l Look) Attempts(ctx context.Context, id scheduler.JobID) ([]AttemptRow, error) {
	attempts, err := collect[AttemptRow](ctx, l.db, lookAttemptsSQL, id)
	if err != nil {
		return nil, fmt.Errorf("read the attempts of job %d: %w", id, err)
	}
	return attempts, nil
}

// Lost gives the newest runs of a job that were lost, oldest first.
func (l Look) Lost(ctx context.Context, id scheduler.JobID) ([]LostRow, error) {
	lost, err := collect[LostRow](ctx, l.db, lookLostSQL, id)
	if err != nil {
		return nil, fmt.Errorf("read the lost runs of job %d: %w", id, err)
	}
	return lost, nil
}

// FailedItems gives at most limit failed items of an MSQ job, the last claim's first.
func (l Look) FailedItems(ctx context.Context, id scheduler.JobID, limit int) ([]SeenItemRow, error) {
	items, err := collect[SeenItemRow](ctx, l.db, lookItemsSQL, id, limit)
	if err != nil {
		return nil, fmt.Errorf("read the failed items of job %d: %w", id, err)
	}
	return items, nil
}

// Needs gives at most limit jobs that a job needs, with their times.
func (l Look) Needs(ctx context.Context, id scheduler.JobID, limit int) ([]NeedRow, error) {
	needs, err := collect[NeedRow](ctx, l.db, lookNeedsSQL, id, limit)
	if err != nil {
		return nil, fmt.Errorf("read what job %d needs: %w", id, err)
	}
	return needs, nil
}

// Outcomes tells how far jobs are, in no order. Jobs that do not exist are left out.
func (l Look) Outcomes(ctx context.Context, ids []scheduler.JobID) ([]OutcomeRow, error) {
	outcomes, err := collect[OutcomeRow](ctx, l.db, lookOutcomesSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("read the outcome of jobs: %w", err)
	}
	return outcomes, nil
}

// Result gives what a job gave back, as JSON; nil: nothing, or not for this account.
func (l Look) Result(ctx context.Context, id scheduler.JobID) (json.RawMessage, error) {
	rows, err := l.db.Query(ctx, lookResultSQL, id)
	if err != nil {
		return nil, fmt.Errorf("read the result of job %d: %w", id, err)
	}
	results, err := pgx.CollectRows(rows, pgx.RowTo[json.RawMessage])
	if err != nil || len(results) == 0 {
		return nil, err
	}
	return results[0], nil
}

// Explain says why a job does not run, or why it ended as it did.
func (l Look) Explain(ctx context.Context, id scheduler.JobID) ([]ReasonRow, error) {
	reasons, err := collect[ReasonRow](ctx, l.db, lookExplainSQL, id)
	if err != nil {
		return nil, fmt.Errorf("explain job %d: %w", id, err)
	}
	return reasons, nil
}

// collect reads all rows into structs, column by column name. No row is an
// empty slice, which is `[]` in JSON.
func collect[T any](ctx context.Context, db Querier, text string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]T{}, rows, pgx.RowToStructByName[T])
}

// planOnce is collect for a long statement whose plan is good whatever is asked: the server
// plans it once a connection. Left to itself it plans anew each time where tables are large,
// since it takes the plan for certain values to be cheaper, and plans for longer than it reads.
func planOnce[T any](ctx context.Context, db Querier, text string, args ...any) ([]T, error) {
	batches, ok := db.(interface {
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	})
	if !ok {
		return collect[T](ctx, db, text, args...)
	}
	var list []T
	var b pgx.Batch // one round trip
	b.Queue("set local plan_cache_mode = force_generic_plan")
	b.Queue(text, args...).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.AppendRows([]T{}, rows, pgx.RowToStructByName[T])
		return err
	})
	b.Queue("set local plan_cache_mode to default")
	err := batches.SendBatch(ctx, &b).Close()
	return list, err
}
