package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellhop/sql/view"
)

// Edit is what is to change about jobs that wait. Zero and nil leave a value as it is.
type Edit struct {
	Priority    *int          // -20 to 19
	RunAt       time.Time     // not before; one that has passed: at once
	RunIn       time.Duration // the same from now on, on the database's clock
	Args        *string
	MaxAttempts int
	Timeout     time.Duration
	Hold        *bool             // false releases
	NotAfter    time.Time         // it expires when it has not begun by then
	NotAfterIn  time.Duration     // the same from now on
	Forever     bool              // it does not expire
	RunOn       *string           // empty: anywhere
	Vars        map[string]string // all that it has from now on
	MSQ         *string           // of a job that has a query
	OnFailure   string            // fail, block or run
}

func (e Edit) row() view.Edit {
	row := view.Edit{
		Priority: e.Priority, RunAt: given(e.RunAt), RunIn: given(e.RunIn), Args: e.Args,
		MaxAttempts: given(e.MaxAttempts), Timeout: given(e.Timeout), Hold: e.Hold,
		NotAfter: given(e.NotAfter), NotAfterIn: given(e.NotAfterIn), RunOn: e.RunOn, Vars: e.Vars, MSQ: e.MSQ,
		OnFailure: given(e.OnFailure),
	}
	if e.Forever {
		row.NotAfter = &Never
	}
	return row
}

// Edit changes a job that waits: one that is Held, Blocked, Scheduled or Ready.
// Any other stays as it is: ErrRefused. A client with keys seals Args and Vars, with the key that the job is sealed
// with, if it is. A text stays plain where a sealed job has a plain one. Without keys, plain text in place of a sealed
// one is ErrInvalid.
func (c *Client) Edit(ctx context.Context, id JobID, e Edit) (Change, error) {
	list, err := c.edit(ctx, []JobID{id}, e)
	change, err := changed(ctx, "edit", id, list, err)
	if s := change.State; err == nil && s != Held && s != Blocked && s != Scheduled && s != Ready {
		err = fmt.Errorf("edit: job %d is %s: only a job that waits can be changed", id, s)
		return change, &Error{Class: ErrRefused, Message: err.Error(), err: err}
	}
	return change, err
}

func (c *Client) edit(ctx context.Context, ids []JobID, e Edit) ([]Change, error) {
	list, err := c.look.EditSealing(ctx, ids, e.row(), view.Sealing{Keys: c.keys, All: true})
	var cannot *view.UnsealableError
	if errors.As(err, &cannot) {
		err = &Error{Class: ErrInvalid, Rule: ruleSealed, Message: cannot.Error(), err: err}
	}
	return list, err
}

// Count tells how many jobs RetryAll, CancelAll or EditAll would be for: those of
// the filter that this login may change. Its Limit does not count.
func (c *Client) Count(ctx context.Context, f Filter) (int64, error) {
	_, n, err := c.look.Pick(ctx, f, 0)
	return n, explained(ctx, err)
}

// RetryAll is Retry for all jobs of a filter that were there when it began, a
// thousand a transaction, and gives how many. Without states: those that are
// Failed or Quarantined. What was done before an error stays done.
func (c *Client) RetryAll(ctx context.Context, f Filter) (int64, error) {
	return c.sweep(ctx, f, []State{Failed, Quarantined}, c.look.RetryMany)
}

// CancelAll is Cancel in the same way. Without states: those that are not over.
func (c *Client) CancelAll(ctx context.Context, f Filter) (int64, error) {
	return c.sweep(ctx, f, []State{Held, Blocked, Scheduled, Ready, Assigned, Running},
		func(ctx context.Context, ids []JobID) ([]Change, error) {
			return c.look.CancelMany(ctx, ids, false)
		})
}

// EditAll is Edit in the same way. Without states: those that wait.
func (c *Client) EditAll(ctx context.Context, f Filter, e Edit) (int64, error) {
	return c.sweep(ctx, f, []State{Held, Blocked, Scheduled, Ready},
		func(ctx context.Context, ids []JobID) ([]Change, error) { return c.edit(ctx, ids, e) })
}

func (c *Client) sweep(
	ctx context.Context, f Filter, usual []State, order func(context.Context, []JobID) ([]Change, error),
) (int64, error) {
	if len(f.States) == 0 {
		f.States = usual
	}
	n, err := c.look.Sweep(ctx, f, order, func(int64) {})
	return n, explained(ctx, err)
}
