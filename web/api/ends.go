package api

import (
	"sync"
	"sync/atomic"

	"bellhop/scheduler"
)

// ends wakes the requests that wait for jobs which end on this instance: with their commit, and without a statement.
type ends struct {
	awaited atomic.Int64
	mu      sync.Mutex
	of      map[scheduler.JobID]map[chan struct{}]bool
}

// await gives a channel that is told when a job is over; deaf ends that.
func (e *ends) await(id scheduler.JobID) (over <-chan struct{}, deaf func()) {
	c := make(chan struct{}, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[scheduler.JobID]map[chan struct{}]bool{}
	}
	if e.of[id] == nil {
		e.of[id] = map[chan struct{}]bool{}
	}
	e.of[id][c] = true
	e.awaited.Add(1)
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.awaited.Add(-1)
		if delete(e.of[id], c); len(e.of[id]) == 0 {
			delete(e.of, id)
		}
	}
}

// Awaited reports whether a client waits for a job; otherwise ends need not be told.
func (e *ends) Awaited() bool { return e.awaited.Load() > 0 }

// Over tells of jobs that are.
func (e *ends) Over(ids []scheduler.JobID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		for c := range e.of[id] {
			select {
			case c <- struct{}{}:
			default: // it was told already
			}
		}
	}
}
