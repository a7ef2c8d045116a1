package ledger

import (
	"slices"
	"sync"
	"time"

	"bellhop/scheduler"
)

// recentMost bounds what is remembered of what the database has confirmed; a failover loses seconds.
const recentMost = 4096

// Recent are the last outcomes that the database has confirmed: should another server answer that does not have
// them, people are told.
type Recent struct {
	mu   sync.Mutex
	runs []scheduler.Run // a ring once it is full
	next int
}

// confirmed remembers outcomes that were written now, but for those that were not ours any more.
func (r *Recent) confirmed(records []scheduler.Record, stale []scheduler.Claim, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range records {
		rec := &records[i]
		if rec.Kind != scheduler.RecordSettle || len(stale) > 0 && slices.Contains(stale, rec.Claim) {
			continue
		}
		run := scheduler.Run{Claim: rec.Claim, CreatedAt: rec.CreatedAt, Over: true, Told: now}
		if len(r.runs) < recentMost {
			r.runs = append(r.runs, run)
			continue
		}
		r.runs[r.next] = run
		r.next = (r.next + 1) % recentMost
	}
}

// Since gives what was confirmed at that time or later, in its order.
func (r *Recent) Since(t time.Time) []scheduler.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Concat(r.runs[r.next:], r.runs[:r.next])
	return slices.DeleteFunc(list, func(run scheduler.Run) bool { return run.Told.Before(t) })
}
