package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql"
)

var (
	lookRJMSQL      = sql.Query("look_rjm")
	lookRJMSetupSQL = sql.Query("look_rjm_setup")
	lookLiveSQL     = sql.Query("look_live")
	identitySQL     = sql.Query("identity")
)

// RJMSetup is a job of RJM's to be.
type RJMSetup struct {
	ID       string // type.nonce
	Config   string // what bash evaluates just before the task
	Priority string
	Blocks   []string         // ids of those that wait for it
	Files    []string         // deleted when it has succeeded
	Locks    []string         // held while it runs
	Inside   *scheduler.JobID // the job that asks for it, if one does
}

// SetUpRJM makes a job of RJM's, held, or gives the one that is there already
// with the same content. What is refused is an error with an SQL code of class
// 22, 23 or 55.
func (l Look) SetUpRJM(ctx context.Context, s RJMSetup) (id scheduler.JobID, err error) {
	rows, err := l.db.Query(ctx, lookRJMSetupSQL, s.ID, s.Config, s.Priority, orEmpty(s.Blocks), orEmpty(s.Files),
		s.Inside, orNull(s.Locks))
	if err == nil {
		id, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[scheduler.JobID])
	}
	if err != nil {
		return 0, fmt.Errorf("set up %s: %w", s.ID, err)
	}
	return id, nil
}

// orEmpty makes no list an empty one, which is not NULL.
func orEmpty(list []string) []string { return append([]string{}, list...) }

// RJMRow is a job under RJM's words. JSON keys are the spec's.
type RJMRow struct {
	State    string          `json:"state"` // wait, ready, run, failed, done, dusting or old
	ID       string          `json:"id"`
	Prio     string          `json:"prio"`
	Host     *string         `json:"host"`
	RC       *int            `json:"rc"`
	Unmet    *int            `json:"blocked_by"` // how many it waits for
	Trouble  *string         `json:"trouble"`    // why its files could not be deleted
	JobQueue scheduler.JobID `json:"job" db:"job"`
}

// RJM lists RJM's jobs that are in one of the states, by state, priority and id.
func (l Look) RJM(ctx context.Context, states, types []string) ([]RJMRow, error) {
	jobs, err := collect[RJMRow](ctx, l.db, lookRJMSQL, states, orNull(types))
	if err != nil {
		return nil, fmt.Errorf("list RJM's jobs: %w", err)
	}
	return jobs, nil
}

// LiveRow is an instance that was not buried: its process may still be gone.
type LiveRow struct {
	Machine      string
	Pid          int
	ProcessStart string
	Silent       bool
}

// Live lists the instances of a name that are not known to be dead.
func (l Look) Live(ctx context.Context, name string) ([]LiveRow, error) {
	live, err := collect[LiveRow](ctx, l.db, lookLiveSQL, name)
	if err != nil {
		return nil, fmt.Errorf("look for instance %s: %w", name, err)
	}
	return live, nil
}

// Identity tells the database from all others, whatever way leads to it.
func (l Look) Identity(ctx context.Context) (string, error) {
	type answer struct{ Identity string }
	a, err := single[answer](ctx, l.db, "look at the database's identity", identitySQL)
	return a.Identity, err
}
