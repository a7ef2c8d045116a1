package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"bellhop/scheduler/words"
)

// watchEvery is how often a watch looks: progress is written once a second at most.
const watchEvery = 500 * time.Millisecond

// Watch gives how far a job is, at once and whenever that changes, until it is
// over: the last is what Wait gives, as soon. It lasts as long as ctx does, and
// an error is the last that it gives.
func (c *Client) Watch(ctx context.Context, id JobID) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		var said string
		for {
			outcomes, err := c.Outcomes(ctx, id)
			switch {
			case errors.Is(err, ErrUnavailable): // the wait below bears that, for a time
			case err != nil:
				yield(Outcome{}, err)
				return
			case len(outcomes) == 1 && !outcomes[0].State.Final():
				o := outcomes[0]
				now := fmt.Sprint(o.State, o.Attempt, o.HowFar(), o.Progress == nil, o.Says(), words.Text(o.WaitingFor))
				if now != said && !yield(o, nil) {
					return
				}
				said = now
			}
			look, cancel := context.WithTimeout(ctx, watchEvery)
			over, err := c.Wait(look, id)
			cancel()
			if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
				yield(over, err)
				return
			}
		}
	}
}
