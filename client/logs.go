package client

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// LogFilter says which lines Logs gives. Its zero value is all that was said
// about the job so far.
type LogFilter struct {
	Levels  []Level // none: every level
	Attempt int     // from 1; 0: every attempt
	// Follow goes on, with further lines as they come, until the job is over.
	Follow bool
}

// Logs gives what was said about a job, each line once, in the order in which
// it is found, which is nearly that of the lines' ids. An error is the last
// that it gives; it is ErrNotFound where there is no such job.
func (c *Client) Logs(ctx context.Context, id JobID, f LogFilter) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		levels := f.Levels
		if len(levels) == 0 {
			levels = []Level{LevelOut, LevelErr, LevelDebug, LevelInfo, LevelError, LevelNote}
		}
		reader := c.look.Logs(id, levels...)
		reader.Attempt, reader.Follow = f.Attempt, f.Follow
		for interval := lookSoonest; ; interval = min(interval*3/2, lookLatest) {
			// Looked at first: a job's last lines are committed with its outcome or before.
			outcomes, err := c.Outcomes(ctx, id)
			if err == nil && len(outcomes) == 0 {
				err = missing(fmt.Errorf("logs: there is no job %d", id))
			}
			if err != nil {
				yield(LogLine{}, err)
				return
			}
			for more := true; more; {
				lines, further, err := reader.Next(ctx)
				if err != nil {
					yield(LogLine{}, explained(ctx, err))
					return
				}
				more = further
				for _, line := range lines {
					interval = lookSoonest
					if !yield(line, nil) {
						return
					}
				}
			}
			if !f.Follow || outcomes[0].State.Final() {
				return
			}
			select {
			case <-ctx.Done():
				yield(LogLine{}, fmt.Errorf("logs: %w", ctx.Err()))
				return
			case <-time.After(interval):
			}
		}
	}
}
