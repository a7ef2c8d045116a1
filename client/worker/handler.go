package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bellhop/client/agent"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// handler does the jobs of a type.
type handler struct {
	typ     scheduler.TypeName
	do      func(context.Context, []*voice) []agent.Verdict
	size    int           // how many lines do takes at once
	wait    time.Duration // how long it waits for so many
	max     int
	timeout time.Duration
	retry   *scheduler.RetryPolicy
	locks   []lock.Template
	texts   []string // of locks
	share   lock.ShareTemplate
}

// Limit bounds a handler's jobs.
type Limit func(*handler) error

// Max is how many jobs of the type run at once, over all instances.
func Max(n int) Limit {
	return func(h *handler) error {
		if n < 1 {
			return fmt.Errorf("Max(%d): at least one job has to run at a time", n)
		}
		h.max = n
		return nil
	}
}

// Timeout is how long a job may take that does not say so itself. The handler's
// context ends then.
func Timeout(d time.Duration) Limit {
	return func(h *handler) error {
		if d <= 0 {
			return fmt.Errorf("Timeout(%s): it has to be positive", d)
		}
		h.timeout = d
		return nil
	}
}

// Retry is how often jobs are tried that do not say so themselves, and after what
// time: first, twice that, and so on, most at most.
func Retry(attempts int, first, most time.Duration) Limit {
	return func(h *handler) error {
		if attempts < 1 || first <= 0 || most < first {
			return fmt.Errorf("Retry(%d, %s, %s): an attempt or more, and 0 < first ≤ most", attempts, first, most)
		}
		p := scheduler.DefaultRetry
		p.Attempts, p.First, p.Most = attempts, first, most
		h.retry = &p
		return nil
	}
}

// Locks are what each job of the type needs, as agents[].locks:
// "customer:${vars.CUSTOMER}=exclusive".
func Locks(templates ...string) Limit {
	return func(h *handler) (err error) {
		h.texts = templates
		h.locks, err = lock.ParseTemplates(templates, lock.AnyLevel.Levels)
		return err
	}
}

// Share gives jobs of the type that come without a share one, as agents[].share: "${vars.CUSTOMER}".
func Share(template string) Limit {
	return func(h *handler) (err error) {
		if h.share, err = lock.ParseShare(template); err != nil {
			return fmt.Errorf("Share: %w", err)
		}
		return nil
	}
}

// Handle does the jobs of a type with work: one after the other in each of so many
// goroutines as there are slots and jobs. What work's result means, package
// client/agent says at [agent.Serve].
func Handle[T any](typ string, work func(ctx context.Context, job *agent.Job[T]) error, limits ...Limit) Part {
	do := func(ctx context.Context, hand []*voice) []agent.Verdict {
		return []agent.Verdict{agent.Do(ctx, given(&hand[0].line), hand[0], work)}
	}
	return func(w *worker) error {
		return w.handle("Handle", &handler{typ: scheduler.TypeName(typ), size: 1, do: do}, limits)
	}
}

// handle adds a handler.
func (w *worker) handle(called string, h *handler, limits []Limit) error {
	if why, next := scheduler.CheckType(string(h.typ)); why != "" {
		return fmt.Errorf("%s: %s; %s", called, why, next)
	}
	if w.handlers[h.typ] != nil {
		return fmt.Errorf("%s(%q): there is a handler for this type already", called, h.typ)
	}
	for _, limit := range limits {
		if err := limit(h); err != nil {
			return fmt.Errorf("%s(%q): %w", called, h.typ, err)
		}
	}
	w.handlers[h.typ] = h
	return nil
}

// given is a line as work gets it.
func given(l *scheduler.Line) agent.Line {
	g := agent.Line{
		ID:          int64(l.Job),
		Attempt:     l.Attempt,
		Fence:       int64(l.Fence),
		Key:         l.Key,
		Traceparent: l.Trace,
		Vars:        l.Vars.Map(),
	}
	if l.HasArgs {
		g.Args = &l.Args
	}
	if l.Kept != nil {
		_ = json.Unmarshal(l.Kept.Steps, &g.Steps) // PostgreSQL has made it
	}
	if l.Item != 0 {
		g.Item = make(map[string]string, len(l.Columns))
		for _, c := range l.Columns {
			g.Item[c.Name] = c.Value
		}
	}
	return g
}
