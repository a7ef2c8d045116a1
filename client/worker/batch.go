package worker

import (
	"context"
	"fmt"
	"time"

	"bellhop/client/agent"
	"bellhop/scheduler"
)

// How large a batch may be, and how long it may wait to be full.
const (
	maxBatch     = 1000
	maxBatchWait = time.Minute
)

// HandleBatch does jobs of a type together: one call of work gets up to size jobs, and waits at most wait from the
// first of them until there are so many. A call takes one slot.
//
// work returns one error for each job, in their order: nil where it succeeded, or whatever a handler of one job may
// return (NoRetry, RetryIn, Snooze, EndedAs). nil alone means that all have succeeded. A panic, or a wrong number of
// errors, fails them all.
//
// The context ends for all when one of them is cancelled or has taken too long. What work then says to have
// succeeded has. The others run again, and that counts as no attempt of theirs.
func HandleBatch[T any](
	typ string, size int, wait time.Duration, work func(ctx context.Context, jobs []*agent.Job[T]) []error,
	limits ...Limit,
) Part {
	do := func(ctx context.Context, hand []*voice) []agent.Verdict {
		lines, voices := make([]agent.Line, len(hand)), make([]agent.Voice, len(hand))
		for i, v := range hand {
			lines[i], voices[i] = given(&v.line), v
		}
		return agent.DoBatch(ctx, lines, voices, work)
	}
	return func(w *worker) error {
		switch {
		case size < 1 || size > maxBatch:
			return fmt.Errorf("HandleBatch(%q): a batch has 1 to %d jobs, and not %d", typ, maxBatch, size)
		case wait < 0 || wait > maxBatchWait:
			return fmt.Errorf("HandleBatch(%q): a batch waits 0 to %s to be full, and not %s", typ, maxBatchWait, wait)
		}
		return w.handle("HandleBatch", &handler{typ: scheduler.TypeName(typ), size: size, wait: wait, do: do}, limits)
	}
}

// fills reports whether the child waits for more lines before it begins. mu is held.
func (c *child) fills() bool {
	if c.handler.wait == 0 || len(c.queue) >= c.handler.size {
		return false
	}
	now := time.Now()
	if c.full.IsZero() {
		c.full = now.Add(c.handler.wait)
		time.AfterFunc(c.handler.wait, c.call)
	}
	return now.Before(c.full)
}
