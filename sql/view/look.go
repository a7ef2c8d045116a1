// Package view is what people and their programs ask of the queue and order of it, with the rows that all faces show:
// commands, REST, pages, reports and package client stand on it. It knows nothing of the scheduler's own statements.
package view

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
	lookListSQL     = strings.Replace(sql.Query("look_list"), "{columns}", columnsOf[JobRow](), 1)
	lookOwnListSQL  = strings.ReplaceAll(lookListSQL, "bellhop.every_job", "bellhop.job")
	lookJobSQL      = strings.Replace(sql.Query("look_job"), "{columns}", columnsOf[JobRow](), 1)
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
	return collect[Found](ctx, l.db, "find jobs", lookFindSQL, ids, keys)
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
	jobs, err := collect[JobRow](ctx, l.db, "list jobs", lookListSQL, f.States, types, limit)
	if denied(err) { // a submitter is not a reader: it sees its own jobs, through their barrier
		jobs, err = collect[JobRow](ctx, l.db, "list jobs", lookOwnListSQL, f.States, types, limit)
	}
	return jobs, err
}

// denied reports that the role lacks a right that the statement needs.
func denied(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "42501"
}

// Job gives one job; ok is false when there is none.
func (l Look) Job(ctx context.Context, id scheduler.JobID) (job JobRow, ok bool, err error) {
	return first(collect[JobRow](ctx, l.db, fmt.Sprintf("read job %d", id), lookJobSQL, id))
}

// Payloads gives what only operators may see of jobs: their texts (the first
// width characters; 0: all) and variables. Readers get the error code 42501.
func (l Look) Payloads(ctx context.Context, ids []scheduler.JobID, width int) (map[scheduler.JobID]PayloadRow, error) {
	var limit *int
	if width > 0 {
		limit = &width
	}
	rows, err := collect[PayloadRow](ctx, l.db, "read the arguments of jobs", lookPayloadSQL, ids, limit)
	if err != nil {
		return nil, err
	}
	payloads := make(map[scheduler.JobID]PayloadRow, len(rows))
	for _, p := range rows {
		payloads[p.Job] = p
	}
	return payloads, nil
}

// Attempts gives every try at a job, the running one included, oldest first.
func (l Look) Attempts(ctx context.Context, id scheduler.JobID) ([]AttemptRow, error) {
	return collect[AttemptRow](ctx, l.db, fmt.Sprintf("read the attempts of job %d", id), lookAttemptsSQL, id)
}

// Lost gives the newest runs of a job that were lost, oldest first.
func (l Look) Lost(ctx context.Context, id scheduler.JobID) ([]LostRow, error) {
	return collect[LostRow](ctx, l.db, fmt.Sprintf("read the lost runs of job %d", id), lookLostSQL, id)
}

// FailedItems gives at most limit failed items of an MSQ job, the last claim's first.
func (l Look) FailedItems(ctx context.Context, id scheduler.JobID, limit int) ([]SeenItemRow, error) {
	return collect[SeenItemRow](ctx, l.db, fmt.Sprintf("read the failed items of job %d", id), lookItemsSQL, id, limit)
}

// Needs gives at most limit jobs that a job needs, with their times.
func (l Look) Needs(ctx context.Context, id scheduler.JobID, limit int) ([]NeedRow, error) {
	return collect[NeedRow](ctx, l.db, fmt.Sprintf("read what job %d needs", id), lookNeedsSQL, id, limit)
}

// Outcomes tells how far jobs are, in no order. Jobs that do not exist are left out.
func (l Look) Outcomes(ctx context.Context, ids []scheduler.JobID) ([]OutcomeRow, error) {
	return collect[OutcomeRow](ctx, l.db, "read the outcome of jobs", lookOutcomesSQL, ids)
}

// Result gives what a job gave back, as JSON; nil: nothing, or not for this account.
func (l Look) Result(ctx context.Context, id scheduler.JobID) (json.RawMessage, error) {
	return value[json.RawMessage](ctx, l.db, fmt.Sprintf("read the result of job %d", id), lookResultSQL, id)
}

// Explain says why a job does not run, or why it ended as it did.
func (l Look) Explain(ctx context.Context, id scheduler.JobID) ([]ReasonRow, error) {
	return collect[ReasonRow](ctx, l.db, fmt.Sprintf("explain job %d", id), lookExplainSQL, id)
}

// collect reads all rows into structs, column by column name; an error says what it was doing. No row is an
// empty slice, which is `[]` in JSON.
func collect[T any](ctx context.Context, db Querier, doing, text string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, text, args...)
	if err == nil {
		var list []T
		if list, err = pgx.AppendRows([]T{}, rows, pgx.RowToStructByName[T]); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", doing, err)
}

// first is the one row of a list that has one; ok false: it has none.
func first[T any](rows []T, err error) (row T, ok bool, _ error) {
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

// value is the one value that a statement gives; the zero value: it gives no row.
func value[T any](ctx context.Context, db Querier, doing, text string, args ...any) (v T, err error) {
	rows, err := db.Query(ctx, text, args...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&v}, func() error { return nil })
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", doing, err)
	}
	return v, nil
}

// planOnce is collect for a long statement whose plan is good whatever is asked: the server
// plans it once a connection. Left to itself it plans anew each time where tables are large,
// since it takes the plan for certain values to be cheaper, and plans for longer than it reads.
func planOnce[T any](ctx context.Context, db Querier, doing, text string, args ...any) ([]T, error) {
	batches, ok := db.(interface {
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	})
	if !ok {
		return collect[T](ctx, db, doing, text, args...)
	}
	var list []T
	var b pgx.Batch // one round trip
	b.Queue("set local plan_cache_mode = force_generic_plan")
	b.Queue(text, args...).Query(func(rows pgx.Rows) (err error) {
		list, err = pgx.AppendRows([]T{}, rows, pgx.RowToStructByName[T])
		return err
	})
	b.Queue("set local plan_cache_mode to default")
	if err := batches.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}
