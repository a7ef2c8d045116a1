package client

import (
	"context"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/seal"
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
	keys *Keys // nil: jobs are not sealed
	ears ears
}

// New gives a client that speaks through db. It costs nothing, and there is nothing to close. All waits of one
// client share a connection to listen.
func New(db DB) *Client { return &Client{db: db, look: view.NewLook(plain{db})} }

// In gives the same client inside a transaction: what it does is done when that
// commits, and never was when that is rolled back.
func (c *Client) In(tx pgx.Tx) *Client {
	return &Client{db: tx, look: view.NewLook(plain{tx}), keys: c.keys}
}

// Keys are those of a file of keys; see package seal for what they do. Its methods Seal and Open are for results, steps
// and columns of your own tables; Args and vars of jobs need neither.
type Keys = seal.Keys

// ReadKeys reads a file of keys, as `bellhop key new` makes it.
func ReadKeys(file string) (*Keys, error) { return seal.Read(file) }

// WithKeys gives a client that seals the args and vars of the jobs that it submits with the first of the keys, so that
// the database never has them in plain text; but vars that Job.Plain names. It seals those of an Edit too, and refuses
// jobs with a query. It is for submitting: make it once, as New. Without keys it is nil's client: nothing is sealed.
func (c *Client) WithKeys(keys *Keys) *Client {
	return &Client{db: c.db, look: c.look, keys: keys}
}

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
