package view

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookPruneSQL      = sql.Query("look_prune")
	lookPruneIntoSQL  = sql.Query("look_prune_into")
	lookPruneCountSQL = sql.Query("look_prune_count")
)

// pruneMost is how many jobs are deleted by one transaction.
const pruneMost = 1000

// PruneFilter says which jobs prune is about: of those that are over and that no job waits for.
type PruneFilter struct {
	States    []scheduler.JobState
	Since     time.Time     // that ended then or later; zero: whenever
	Until     time.Time     // that ended before; zero: OlderThan says
	OlderThan time.Duration // for how long they are over, by the database's clock
	RJM       bool          // RJM's only
}

func (f PruneFilter) args() []any {
	return []any{orNever(f.Since), orNever(f.Until), f.OlderThan.Milliseconds(), f.States}
}

// orNever is nil for no time at all.
func orNever(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// PruneRow is jobs that prune would delete.
type PruneRow struct {
	Type  scheduler.TypeName `json:"type"`
	State scheduler.JobState `json:"state"`
	Jobs  int64              `json:"jobs"`
	First scheduler.JobID    `json:"first"`
	Last  scheduler.JobID    `json:"last"`
}

// PruneCount says what Prune would delete, and changes nothing.
func (l Look) PruneCount(ctx context.Context, f PruneFilter) ([]PruneRow, error) {
	return collect[PruneRow](ctx, l.db, "count what would be pruned", lookPruneCountSQL, append(f.args(), f.RJM)...)
}

// Prune deletes jobs that are over, with their attempts and logs, and gives how many; but none that others wait for, or
// whose files are still to be deleted. It takes many small transactions: what was deleted before an error stays so.
func (l Look) Prune(ctx context.Context, f PruneFilter) (int64, error) {
	return l.prune(ctx, lookPruneSQL, func(past int64) []any { return append(f.args(), past, pruneMost, f.RJM) })
}

// PruneInto writes each job to a table before it deletes it, in the same transaction. RJM's are as others are.
func (l Look) PruneInto(ctx context.Context, f PruneFilter, table string) (int64, error) {
	return l.prune(ctx, lookPruneIntoSQL, func(past int64) []any { return append(f.args(), past, pruneMost, table) })
}

// PruneSome is Prune of the next thousand jobs behind an id, and gives behind which the others are; nil: there are
// none.
func (l Look) PruneSome(ctx context.Context, f PruneFilter, past int64) (n int64, next *int64, err error) {
	type some struct {
		Deleted int64
		Last    *int64
	}
	rows, err := collect[some](ctx, l.db, "prune", lookPruneSQL, append(f.args(), past, pruneMost, f.RJM)...)
	if err != nil {
		return 0, nil, err
	}
	return rows[0].Deleted, rows[0].Last, nil
}

func (l Look) prune(ctx context.Context, query string, args func(past int64) []any) (n int64, err error) {
	type some struct {
		Deleted int64
		Last    *int64
	}
	for past := int64(0); ; {
		rows, err := collect[some](ctx, l.db, "prune", query, args(past)...)
		if err != nil {
			return n, err
		}
		n += rows[0].Deleted
		if rows[0].Last == nil {
			return n, nil
		}
		past = *rows[0].Last
	}
}
