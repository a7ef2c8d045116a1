package client

import (
	"context"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// DB is what a client speaks through: a *pgxpool.Pool, a *pgx.Conn or a pgx.Tx.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Client asks the queue and changes it.
type Client struct {
	db   DB
	look view.Look
	ears ears
}

// New gives a client that speaks through db. It costs nothing, and there is nothing to close. All waits of one
// client share a connection to listen.
func New(db DB) *Client { return &Client{db: db, look: view.NewLook(plain{db})} }

// In gives the same client inside a transaction: what it does is done when that
// commits, and never was when that is rolled back.
func (c *Client) In(tx pgx.Tx) *Client { return New(tx) }

// JobID is a row of bellhop.jobqueue. IDs grow, and are never used again.
type JobID = scheduler.JobID

// TypeName names a kind of work, and the agent that does it.
type TypeName = scheduler.TypeName

// State is how far a job is. Its method Final tells whether the job is over.
type State = scheduler.JobState

// EndedAs is how a job that succeeded had nothing to do: no_data, skipped.
type EndedAs = scheduler.EndedAs

// The states, in the order of a job's life. The last four are final: only Retry
// leads out of them.
const (
	Held        = scheduler.Held        // its submitter holds it
	Blocked     = scheduler.Blocked     // it needs jobs that are not over
	Scheduled   = scheduler.Scheduled   // its time has not come
	Ready       = scheduler.Ready       // it may start
	Assigned    = scheduler.Assigned    // a process comes up for it
	Running     = scheduler.Running     // an agent works on it
	Succeeded   = scheduler.Succeeded   // done
	Failed      = scheduler.Failed      // its last attempt failed, or what it needs did
	Cancelled   = scheduler.Cancelled   // it is not wanted any more
	Quarantined = scheduler.Quarantined // it killed its agent three times
)
