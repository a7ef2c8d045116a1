package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Exec runs one statement in the app's transaction, and tells how many rows it gave: see [Pgx] and [SQL].
type Exec func(ctx context.Context, sql string, args ...any) (rows int64, err error)

// Pgx makes an Exec of a pgx.Tx.
func Pgx[R interface{ RowsAffected() int64 }](tx interface {
	Exec(ctx context.Context, sql string, args ...any) (R, error)
}) Exec {
	return func(ctx context.Context, sql string, args ...any) (int64, error) {
		r, err := tx.Exec(ctx, sql, args...)
		if err != nil {
			return 0, err
		}
		return r.RowsAffected(), nil
	}
}

// SQL makes an Exec of a *sql.Tx of package database/sql.
func SQL[R interface{ RowsAffected() (int64, error) }](tx interface {
	ExecContext(ctx context.Context, sql string, args ...any) (R, error)
}) Exec {
	return func(ctx context.Context, sql string, args ...any) (int64, error) {
		r, err := tx.ExecContext(ctx, sql, args...)
		if err != nil {
			return 0, err
		}
		return r.RowsAffected()
	}
}

// Finish ends the job as succeeded if the transaction commits: the rows of the handler and the outcome of the job are
// there together, or neither is. result becomes the column result, as JSON; nil: none. Its error has the SQLSTATE
// BH004 if another run has the job by now: roll back, and return it. After the commit return nil: that changes nothing.
// The login of the transaction needs bellhop_worker, and the type in bellhop.worker_type (docs/workers.md).
//
//	tx, err := pool.Begin(ctx)
//	…
//	if err := job.Finish(ctx, agent.Pgx(tx), receipt); err != nil {
//		return err
//	}
//	return tx.Commit(ctx)
func (j *Job[T]) Finish(ctx context.Context, tx Exec, result any) error {
	var text *string
	if result != nil {
		data, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("finish job %d: the result is not valid JSON: %w", j.ID, err)
		}
		is := string(data)
		text = &is
	}
	if _, err := tx(ctx, "select bellhop.finish($1::bigint, $2::bigint, $3::jsonb)", j.ID, j.Fence, text); err != nil {
		return fmt.Errorf("finish job %d: %w", j.ID, err)
	}
	return nil
}

// Fail ends the attempt as failed if the transaction commits. [NoRetry] and [RetryIn] tell when the job is tried again;
// else its type does. After the commit return nil.
func (j *Job[T]) Fail(ctx context.Context, tx Exec, because error) error {
	var rest *float64
	if wish := (*wished)(nil); errors.As(because, &wish) {
		seconds := wish.after.Seconds()
		if wish.never {
			seconds = -1
		}
		rest = &seconds
	}
	if because == nil {
		because = errors.New("it failed without an error")
	}
	if _, err := tx(ctx, "select bellhop.fail($1::bigint, $2::bigint, $3::text, make_interval(secs => $4::float8))",
		j.ID, j.Fence, because.Error(), rest); err != nil {
		return fmt.Errorf("fail job %d: %w", j.ID, err)
	}
	return nil
}

// FinishItem records an item of a query as done if the transaction commits. name is what tells it from the other items
// of the job, for example its key. The answer is false if an earlier run of the query has done the item: then write
// nothing, and return nil. Else write the rows of the item in this transaction.
func (j *Job[T]) FinishItem(ctx context.Context, tx Exec, name string) (first bool, err error) {
	rows, err := tx(ctx, "select 1 where bellhop.finish_item($1::bigint, $2::bigint, $3::text)", j.ID, j.Fence, name)
	if err != nil {
		return false, fmt.Errorf("finish item %q of job %d: %w", name, j.ID, err)
	}
	return rows == 1, nil
}
