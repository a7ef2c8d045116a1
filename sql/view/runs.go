package view

import (
	"context"
	"math"
	"time"

	"bellhop/sql"
)

var (
	lookRunsSearchSQL = sql.Query("look_runs_search")
	lookRunsBelowSQL  = sql.Query("look_runs_below")
)

// runsAtOnce is how many runs one statement reads at most.
const runsAtOnce = 100_000

// RunFilter says which runs FindRuns lists; what is nil is no filter.
type RunFilter struct {
	Workflow *string
	Names    []string // of workflows, whatever the case: patterns of LIKE
	Project  *string
	States   []string
	By       []string // patterns of LIKE
	Since    *time.Time
	Until    *time.Time
	Below    *int64 // older than this run
}

// FindRuns lists runs over all workflows, the newest first. Each statement reads
// so many and no more, however few of them are asked for.
func (l Look) FindRuns(ctx context.Context, f RunFilter, most int) ([]RunRow, error) {
	list := []RunRow{}
	above := int64(math.MaxInt64)
	if f.Below != nil {
		above = *f.Below
	}
	for len(list) < most {
		newest, err := collect[struct{ ID int64 }](ctx, l.db, "find runs", lookRunsBelowSQL, above, f.Since)
		if err != nil {
			return nil, err
		}
		if len(newest) == 0 {
			break
		}
		past := newest[0].ID - runsAtOnce
		part, err := collect[RunRow](ctx, l.db, "find runs", lookRunsSearchSQL, newest[0].ID, past, most-len(list), f.Names,
			f.Project, f.States, f.By, f.Since, f.Until, f.Workflow)
		if err != nil {
			return nil, err
		}
		list, above = append(list, part...), past+1
	}
	return list, nil
}
