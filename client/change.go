package client

import (
	"context"
	"fmt"
	"time"

	"bellhop/sql/view"
)

// changed is what all changes of one job have in common.
func changed(ctx context.Context, verb string, id JobID, list []Change, err error) (Change, error) {
	if err != nil {
		return Change{}, explained(ctx, err)
	}
	if len(list) == 0 {
		return Change{}, missing(fmt.Errorf("%s: there is no job %d", verb, id))
	}
	return list[0], nil
}

// Cancel ends a job that waits, and asks one that runs to stop: that is
// Cancelled when its last process is gone, for which Wait waits. A job that is
// over stays as it is, and that is no error.
func (c *Client) Cancel(ctx context.Context, id JobID) (Change, error) {
	list, err := c.look.CancelMany(ctx, []JobID{id}, false)
	return changed(ctx, "cancel", id, list, err)
}

// CancelNow is Cancel that kills what runs at once, without asking.
func (c *Client) CancelNow(ctx context.Context, id JobID) (Change, error) {
	list, err := c.look.CancelMany(ctx, []JobID{id}, true)
	return changed(ctx, "cancel", id, list, err)
}

// Release lets a job that is Held run, and those that need it. Any other stays
// as it is, and that is no error.
func (c *Client) Release(ctx context.Context, id JobID) (Change, error) {
	list, err := c.look.ReleaseMany(ctx, []JobID{id})
	return changed(ctx, "release", id, list, err)
}

// Retry lets a job that is over run once more; what happened before is kept as
// an attempt. One that is not over stays as it is: ErrRefused.
func (c *Client) Retry(ctx context.Context, id JobID) (Change, error) {
	list, err := c.look.RetryMany(ctx, []JobID{id})
	change, err := changed(ctx, "retry", id, list, err)
	if err == nil && !change.Was.Final() {
		err = fmt.Errorf("retry: job %d is %s: only a finished job gets a new attempt", id, change.Was)
		return change, &Error{Class: ErrRefused, Message: err.Error(), err: err}
	}
	return change, err
}

// Pause lets no job of a type start any more, until Resume; what runs goes on.
// An empty type is all of them. Operators only.
func (c *Client) Pause(ctx context.Context, t TypeName) error {
	return explained(ctx, c.look.Pause(ctx, given(t)))
}

// Resume lets the jobs of a type start again, and tells whether it was paused.
// An empty type is everything that was paused. Operators only.
func (c *Client) Resume(ctx context.Context, t TypeName) (was bool, err error) {
	was, _, err = c.look.Resume(ctx, given(t))
	return was, explained(ctx, err)
}

// Kick makes every instance look for work now. Nothing needs it: a commit rings
// by itself.
func (c *Client) Kick(ctx context.Context) error { return explained(ctx, c.look.Kick(ctx)) }

// Prune deletes jobs that have been over for longer than a time, to the
// millisecond, with their attempts and logs, and gives how many; none that
// others wait for. Without states: those of every final one. It takes many
// small transactions: what was deleted before an error stays so. Operators only.
func (c *Client) Prune(ctx context.Context, olderThan time.Duration, states ...State) (int64, error) {
	if len(states) == 0 {
		states = []State{Succeeded, Failed, Cancelled, Quarantined}
	}
	n, err := c.look.Prune(ctx, view.PruneFilter{OlderThan: olderThan, States: states})
	return n, explained(ctx, err)
}
