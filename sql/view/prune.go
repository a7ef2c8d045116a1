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
	lookAgoSQL        = sql.Query("look_ago")
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

// Ago is a time in the past by the database's clock: PruneFilter's Until for calls that follow each other.
func (l Look) Ago(ctx context.Context, age time.Duration) (time.Time, error) {
	type row struct{ At time.Time }
	rows, err := collect[row](ctx, l.db, "ask for the database's time", lookAgoSQL, age.Milliseconds())
	if err != nil {
		return time.Time{}, err
	}
	return rows[0].At, nil
}

// Prune deletes jobs that are over, with their attempts and logs, and gives how many; but none that others wait for, or
// whose files are still to be deleted. It takes many small transactions: what was deleted before an error stays so.
func (l Look) Prune(ctx context.Context, f PruneFilter) (int64, error) {
	return l.prune(ctx, lookPruneSQL, f, f.RJM)
}

// PruneInto writes each job to a table before it deletes it, in the same transaction. RJM's are as others are.
func (l Look) PruneInto(ctx context.Context, f PruneFilter, table string) (int64, error) {
	return l.prune(ctx, lookPruneIntoSQL, f, table)
}

// PruneSome is Prune of the next thousand jobs behind an id, and gives behind which the others are; nil: there are
// none.
func (l Look) PruneSome(ctx context.Context, f PruneFilter, past int64) (n int64, next *int64, err error) {
	some, err := l.pruneSome(ctx, lookPruneSQL, f, past, f.RJM)
	return some.Deleted, some.Last, err
}

// pruned is what one transaction has deleted.
type pruned struct {
	Deleted int64
	Last    *int64 // the id behind which it goes on; nil: there are no more
	Until   time.Time
}

// pruneSome takes one transaction; with is the $7 of its query.
func (l Look) pruneSome(ctx context.Context, query string, f PruneFilter, past int64, with any) (pruned, error) {
	rows, err := collect[pruned](ctx, l.db, "prune", query, append(f.args(), past, pruneMost, with)...)
	if err != nil {
		return pruned{}, err
	}
	return rows[0], nil
}

// prune takes one transaction after the other. All have the time of the first as their bound: with a bound that moves,
// a busy queue always has some more jobs that are old enough.
func (l Look) prune(ctx context.Context, query string, f PruneFilter, with any) (n int64, err error) {
	for past := int64(0); ; {
		some, err := l.pruneSome(ctx, query, f, past, with)
		n += some.Deleted
		if err != nil || some.Last == nil {
			return n, err
		}
		past, f.Until = *some.Last, some.Until
	}
}
