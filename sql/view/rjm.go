package view

import (
	"context"
	"fmt"

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
	return value[scheduler.JobID](ctx, l.db, "set up "+s.ID, lookRJMSetupSQL, s.ID, s.Config, s.Priority,
		sql.ListOrEmpty(s.Blocks), sql.ListOrEmpty(s.Files), s.Inside, sql.ListOrNull(s.Locks))
}

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
	return collect[RJMRow](ctx, l.db, "list RJM's jobs", lookRJMSQL, states, sql.ListOrNull(types))
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
	return collect[LiveRow](ctx, l.db, fmt.Sprintf("look for instance %s", name), lookLiveSQL, name)
}

// Identity tells the database from all others, whatever way leads to it.
func (l Look) Identity(ctx context.Context) (string, error) {
	return value[string](ctx, l.db, "look at the database's identity", identitySQL)
}
