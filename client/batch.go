package client

import (
	"context"
	"fmt"
)

// Batch begins a batch: jobs that are submitted with Batch: id. The job that is
// given here runs when all of them are over; its id is the batch's, and Wait,
// Cancel and Graph take it like any other. It is Held until Release says that no
// more jobs are to come. With OnFailure "fail" it runs only if all have
// succeeded, with "block" not before they have; empty is "run": however they have
// ended. Of type dummy it does nothing.
func (c *Client) Batch(ctx context.Context, then Job) (JobID, error) {
	then.Held = true
	if then.OnFailure == "" {
		then.OnFailure = "run"
	}
	return c.Submit(ctx, then)
}

// BatchCount tells how the jobs of a batch stand: ErrNotFound where there is none.
func (c *Client) BatchCount(ctx context.Context, id JobID) (BatchCount, error) {
	row, ok, err := c.look.BatchCount(ctx, id)
	if err != nil {
		return BatchCount{}, explained(ctx, err)
	}
	if !ok {
		return BatchCount{}, missing(fmt.Errorf("count batch: there is no job %d", id))
	}
	return row, nil
}
