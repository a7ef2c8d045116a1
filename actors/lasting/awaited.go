package lasting

import (
	"sync"
	"sync/atomic"
	"time"

	"bellhop/scheduler"
)

// How long a wait for a job is remembered: the waiting side repeats it before that. And for how many jobs; waits
// for further ones find their ends by looking.
const (
	awaitedFor  = 15 * time.Second
	awaitedMost = 10_000
)

// Awaited are the jobs for whose end a client waits, or whose log a client follows. It is a hint, which any session
// can give: at most, one more notification is sent, or one more call made. Written by the bell; its readers take no
// more than a glance if there are no waits.
type Awaited struct {
	some  atomic.Bool
	mu    sync.Mutex
	until map[scheduler.JobID]time.Time
}

func (a *Awaited) Add(ids []scheduler.JobID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[scheduler.JobID]time.Time{}
	}
	if len(a.until)+len(ids) > awaitedMost {
		a.forget(now)
	}
	for _, id := range ids {
		if _, known := a.until[id]; known || len(a.until) < awaitedMost {
			a.until[id] = now.Add(awaitedFor)
		}
	}
	a.some.Store(len(a.until) > 0)
}

// forget drops the jobs whose wait has not been renewed. mu is held.
func (a *Awaited) forget(now time.Time) {
	for id, until := range a.until {
		if now.After(until) {
			delete(a.until, id)
		}
	}
}

// Now are the jobs that clients wait for.
func (a *Awaited) Now(now time.Time) map[scheduler.JobID]bool {
	if !a.some.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	a.some.Store(len(a.until) > 0)
	jobs := make(map[scheduler.JobID]bool, len(a.until))
	for id := range a.until {
		jobs[id] = true
	}
	return jobs
}

// Among are those of the jobs that end with these records and that clients wait for.
func (a *Awaited) Among(records []scheduler.Record, now time.Time) (ids []scheduler.JobID) {
	if !a.some.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range records {
		r := &records[i]
		if r.Kind != scheduler.RecordSettle || !r.Verdict.State.Final() {
			continue
		}
		if until, is := a.until[r.Claim.Job]; is && !now.After(until) {
			ids = append(ids, r.Claim.Job)
		}
	}
	if len(ids) == 0 {
		a.forget(now)
		a.some.Store(len(a.until) > 0)
	}
	return ids
}
