package client

import (
	"context"
	"fmt"
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
