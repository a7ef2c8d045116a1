package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Outcomes tells how far jobs are now, in no order. Those that are not there
// are left out.
func (c *Client) Outcomes(ctx context.Context, ids ...JobID) ([]Outcome, error) {
	outcomes, err := c.look.Outcomes(ctx, ids)
	return outcomes, explained(ctx, err)
}

// How often a wait looks: soon at first, then less often; how long a look may
// take; and how long it goes on without an answer.
const (
	lookSoonest  = 10 * time.Millisecond
	lookLatest   = time.Second
	lookAnswer   = 15 * time.Second
	lookPatience = 30 * time.Second
	awaitAgain   = 5 * time.Second // how often the wait is announced: it is remembered for 15 s
)

// lookOnce is Outcomes, which gives up on a connection that does not answer.
func (c *Client) lookOnce(ctx context.Context, ids []JobID) ([]Outcome, error) {
	once, cancel := context.WithTimeout(ctx, lookAnswer)
	defer cancel()
	outcomes, err := c.Outcomes(once, ids...)
	if err != nil && ctx.Err() == nil && once.Err() != nil {
		err = &Error{Class: ErrUnavailable, Message: err.Error(), err: err}
	}
	return outcomes, err
}

// Wait waits until a job is over, and gives how it ended; Outcome.Err makes an error of a bad end, Outcome.Into
// reads what it gave back. It waits for as long as ctx lasts. If the client has a pool, it listens, and the
// instance that records the end rings: all waits of one client share a connection for that. It also looks at the
// job's row, at most a second apart. If the client has a pool, a database that is unavailable for less than 30 s
// ends no wait.
//
// ErrNotFound: there is no such job, or it was deleted during the wait. In a transaction there is no waiting
// (ErrRefused): a job that was submitted in it does not start before it commits.
func (c *Client) Wait(ctx context.Context, id JobID) (Outcome, error) {
	for outcome, err := range c.WaitEach(ctx, id) {
		return outcome, err
	}
	return Outcome{}, nil // of one job there is one outcome, or an error
}

// WaitEach waits until jobs are over, and gives each when it is: the first to
// end comes first, each once. An error is the last that it gives; it is
// ErrNotFound where one of the jobs is not there.
func (c *Client) WaitEach(ctx context.Context, ids ...JobID) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		if _, is := c.db.(interface{ Rollback(context.Context) error }); is {
			err := errors.New("wait: in a transaction there is nothing to wait for: its jobs start when it has committed")
			yield(Outcome{}, &Error{Class: ErrRefused, Message: err.Error(), err: err})
			return
		}
		pending := slices.Compact(slices.Sorted(slices.Values(ids)))
		var patient time.Time // until when errors are borne; zero: the last look went well
		pool, _ := c.db.(*pgxpool.Pool)
		var woken chan struct{} // nil: nothing wakes us
		var announced time.Time
		for interval := lookSoonest; len(pending) > 0; interval = min(interval*3/2, lookLatest) {
			// Not for what is over at once.
			if pool != nil && interval > lookSoonest && time.Since(announced) > awaitAgain {
				if woken == nil {
					woken = c.ears.add(pool, pending)
					defer c.ears.remove(woken)
				}
				if c.look.Await(ctx, pending) == nil { // else the next look tells why
					announced = time.Now()
				}
			}
			outcomes, err := c.lookOnce(ctx, pending)
			switch {
			case err == nil:
				patient = time.Time{}
				rest, goOn := yieldEnded(pending, outcomes, yield)
				if !goOn {
					return
				}
				if len(rest) < len(pending) {
					interval = lookSoonest
				}
				pending = rest
			case errors.Is(err, ErrUnavailable) && patient.IsZero():
				patient = time.Now().Add(lookPatience)
			case !errors.Is(err, ErrUnavailable) || time.Now().After(patient):
				yield(Outcome{}, err)
				return
			}
			if len(pending) == 0 {
				return
			}
			select {
			case <-ctx.Done():
				yield(Outcome{}, fmt.Errorf("wait: %w", ctx.Err()))
				return
			case <-woken:
			case <-time.After(interval):
			}
		}
	}
}

// yieldEnded yields the final outcomes, and an error for a job that does not exist. It returns the jobs that have not
// ended, and whether the wait goes on.
func yieldEnded(pending []JobID, outcomes []Outcome, yield func(Outcome, error) bool) (rest []JobID, goOn bool) {
	over := map[JobID]bool{}
	for _, o := range outcomes {
		if !o.State.Final() {
			continue
		}
		over[o.ID] = true
		if !yield(o, nil) {
			return nil, false
		}
	}
	if gone := firstMissing(pending, outcomes); gone != 0 {
		yield(Outcome{ID: gone}, missing(fmt.Errorf("wait: there is no job %d", gone)))
		return nil, false
	}
	return slices.DeleteFunc(pending, func(id JobID) bool { return over[id] }), true
}

// firstMissing is one of ids that has no outcome; 0: there is none.
func firstMissing(ids []JobID, outcomes []Outcome) JobID {
	if len(outcomes) == len(ids) {
		return 0
	}
	for _, id := range ids {
		if !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.ID == id }) {
			return id
		}
	}
	return 0
}
