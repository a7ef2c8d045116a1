package client

import (
	"context"
	"fmt"

	"bellhop/sql/view"
)

// Find gives the id of the job that has a key. ErrNotFound where there is none,
// or none that this login may see.
func (c *Client) Find(ctx context.Context, key string) (JobID, error) {
	found, err := c.look.Find(ctx, []JobID{}, []string{key})
	if err != nil {
		return 0, explained(ctx, err)
	}
	if len(found) == 0 {
		return 0, missing(fmt.Errorf("there is no job with the key %q", key))
	}
	return found[0].ID, nil
}

// Job gives all of a job that every reader may see. ErrNotFound where it is not there.
func (c *Client) Job(ctx context.Context, id JobID) (JobRow, error) {
	row, ok, err := c.look.Job(ctx, id)
	if err != nil {
		return JobRow{}, explained(ctx, err)
	}
	if !ok {
		return JobRow{}, missing(fmt.Errorf("there is no job %d", id))
	}
	return row, nil
}

// Filter says which jobs Jobs gives. Its zero value is every job.
type Filter = view.Filter

// Jobs gives jobs in the order of their ids. A login that is no reader gets its own.
func (c *Client) Jobs(ctx context.Context, f Filter) ([]JobRow, error) {
	if len(f.States) == 0 {
		f.States = []State{Held, Blocked, Scheduled, Ready, Assigned, Running, Succeeded, Failed, Cancelled, Quarantined}
	}
	rows, err := c.look.Jobs(ctx, f)
	return rows, explained(ctx, err)
}

// Payload gives what only operators may see of a job: ErrDenied for others.
func (c *Client) Payload(ctx context.Context, id JobID) (Payload, error) {
	rows, err := c.look.Payloads(ctx, []JobID{id}, 0)
	if err != nil {
		return Payload{}, explained(ctx, err)
	}
	row, ok := rows[id]
	if !ok {
		return Payload{}, missing(fmt.Errorf("there is no job %d", id))
	}
	return row, nil
}

// Attempts gives every try at a job, the running one included, oldest first.
func (c *Client) Attempts(ctx context.Context, id JobID) ([]Attempt, error) {
	rows, err := c.look.Attempts(ctx, id)
	return rows, explained(ctx, err)
}

// Lost gives the newest runs of a job that were lost with their host or
// instance and given back, which are no attempts, oldest first.
func (c *Client) Lost(ctx context.Context, id JobID) ([]LostRun, error) {
	rows, err := c.look.Lost(ctx, id)
	return rows, explained(ctx, err)
}

// FailedItems gives at most limit failed items of an MSQ job.
func (c *Client) FailedItems(ctx context.Context, id JobID, limit int) ([]FailedItem, error) {
	rows, err := c.look.FailedItems(ctx, id, limit)
	return rows, explained(ctx, err)
}

// Explain says why a job does not run, or why it ended as it did; what counts
// most comes first.
func (c *Client) Explain(ctx context.Context, id JobID) ([]Reason, error) {
	rows, err := c.look.Explain(ctx, id)
	if err == nil && len(rows) == 0 {
		return nil, missing(fmt.Errorf("explain: there is no job %d", id))
	}
	return rows, explained(ctx, err)
}

// Graph gives the jobs that are connected with one by dependencies, itself
// among them, at most limit, in the order of their ids.
func (c *Client) Graph(ctx context.Context, id JobID, limit int) (Graph, error) {
	g, err := c.look.Graph(ctx, id, limit)
	if err == nil && len(g.Nodes) == 0 {
		err = missing(fmt.Errorf("graph: there is no job %d", id))
	}
	return g, explained(ctx, err)
}
