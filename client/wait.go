package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"bellhop/sql/store"
)

// Outcome is how far a job is.
type Outcome struct {
	ID          JobID  `json:"id"`
	Key         string `json:"key,omitempty"`
	State       State  `json:"state"`
	Attempt     int    `json:"attempt"`                // the latest, from 1; 0: none yet
	ExitCode    *int   `json:"exit_code"`              // nil: none is known
	Error       string `json:"error,omitempty"`        // why the latest attempt failed
	ItemsFailed int64  `json:"items_failed,omitempty"` // of an MSQ job
	// Progress is how far it is, 0 to 1; nil: its agent has not said.
	Progress *float32 `json:"progress,omitempty"`
	// ProgressText is what its agent says of that, and Result what it gave back, as JSON: for the job's submitter, and
	// operators. Empty: nothing, or not for this login.
	ProgressText string          `json:"progress_text,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	WaitingFor   string          `json:"waiting_for,omitempty"` // why it does not start, where that is known
	Stuck        bool            `json:"stuck,omitempty"`       // waiting alone will not change that
}

// Err is nil when the job succeeded or is not over, and else a *JobError.
func (o Outcome) Err() error {
	if !o.State.Final() || o.State == Succeeded {
		return nil
	}
	return &JobError{o}
}

// HowFar is Progress, and 0 where its agent has not said.
func (o Outcome) HowFar() float64 { return float64(orZero(o.Progress)) }

// Into reads what the job gave back into v, as package encoding/json does. Of a
// job that gave nothing back it is an error.
func (o Outcome) Into(v any) error {
	if len(o.Result) == 0 {
		return fmt.Errorf("job %d is %s, and gave nothing back that this login may see", o.ID, o.State)
	}
	if err := json.Unmarshal(o.Result, v); err != nil {
		return fmt.Errorf("read the result of job %d: %w", o.ID, err)
	}
	return nil
}

// JobError is the error of a job that is over and did not succeed.
type JobError struct{ Outcome Outcome }

// Error says how it ended, and what was said of it.
func (e *JobError) Error() string {
	text := fmt.Sprintf("job %d is %s", e.Outcome.ID, e.Outcome.State)
	if code := e.Outcome.ExitCode; code != nil && *code != 0 {
		text += fmt.Sprintf(", exit code %d", *code)
	}
	if e.Outcome.Error != "" {
		text += ": " + strings.TrimSpace(e.Outcome.Error)
	}
	return text
}

func outcomeOf(r store.OutcomeRow) Outcome {
	o := Outcome{
		ID:         r.ID,
		Key:        orZero(r.Key),
		State:      r.State,
		Attempt:    r.Attempt,
		ExitCode:   r.ExitCode,
		Error:      orZero(r.Error),
		WaitingFor: orZero(r.WaitingFor),
		Stuck:      r.WaitingFor != nil && r.Stuck,
	}
	o.ItemsFailed = orZero(r.ItemsFailed)
	o.Progress, o.ProgressText, o.Result = r.Progress, orZero(r.ProgressText), r.Result
	return o
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Outcomes tells how far jobs are now, in no order. Those that are not there
// are left out.
func (c *Client) Outcomes(ctx context.Context, ids ...JobID) ([]Outcome, error) {
	rows, err := c.look.Outcomes(ctx, ids)
	if err != nil {
		return nil, explained(ctx, err)
	}
	outcomes := make([]Outcome, len(rows))
	for i, r := range rows {
		outcomes[i] = outcomeOf(r)
	}
	return outcomes, nil
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
				over := map[JobID]bool{}
				for _, o := range outcomes {
					if !o.State.Final() {
						continue
					}
					over[o.ID], interval = true, lookSoonest
					if !yield(o, nil) {
						return
					}
				}
				if gone := firstMissing(pending, outcomes); gone != 0 {
					yield(Outcome{ID: gone}, missing(fmt.Errorf("wait: there is no job %d", gone)))
					return
				}
				pending = slices.DeleteFunc(pending, func(id JobID) bool { return over[id] })
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
