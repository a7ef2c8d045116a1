package actors

import (
	"sync"

	"bellhop/scheduler"
)

// entriesMost bounds what waits to be logged: past it what agents say is
// dropped and counted, never the jobs.
const entriesMost = 50_000

// batchMost is how many records go into one transaction.
const batchMost = 2000

// outbox is what this instance owes the database. It is not inside the ledger
// so that the ledger can die and owe nothing less.
type outbox struct {
	mu      sync.Mutex
	waiting scheduler.Batch
	flying  scheduler.Batch // in a transaction whose end is not known
	inAir   bool
	latest  map[scheduler.JobID]int // index in waiting.Progress
	dropped int
	asked   bool // the ledger has been woken for what waits
	drained []chan struct{}
}

func newOutbox() *outbox { return &outbox{latest: map[scheduler.JobID]int{}} }

// wake reports whether the ledger has to be told. Call with mu held.
func (o *outbox) wake() bool {
	if o.asked {
		return false
	}
	o.asked = true
	return true
}

func (o *outbox) records(r []scheduler.Record) (wake bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting.Records = append(o.waiting.Records, r...)
	return o.wake()
}

func (o *outbox) entries(e []scheduler.Entry) (wake bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := entriesMost - len(o.waiting.Entries); len(e) > room {
		o.dropped += len(e) - room
		e = e[:room]
	}
	o.waiting.Entries = append(o.waiting.Entries, e...)
	return o.wake()
}

func (o *outbox) failed(items []scheduler.FailedItem) (wake bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting.Failed = append(o.waiting.Failed, items...)
	return o.wake()
}

// progress keeps the latest figures of each job only.
func (o *outbox) progress(p scheduler.Progress) (wake bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, ok := o.latest[p.Job]; ok {
		o.waiting.Progress[i] = p
		return o.wake()
	}
	o.latest[p.Job] = len(o.waiting.Progress)
	o.waiting.Progress = append(o.waiting.Progress, p)
	return o.wake()
}

// take starts a flight: what waits, or what an earlier flight could not settle.
func (o *outbox) take() (scheduler.Batch, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dropped := o.dropped
	o.dropped = 0
	if o.inAir {
		o.flying.Again = true
		return o.flying, dropped
	}
	o.asked = false
	o.flying = o.waiting
	o.waiting = scheduler.Batch{}
	clear(o.latest)
	if n := len(o.flying.Records); n > batchMost {
		o.waiting.Records = append([]scheduler.Record(nil), o.flying.Records[batchMost:]...)
		o.flying.Records = o.flying.Records[:batchMost]
		o.asked = true
	}
	o.inAir = !o.flying.Empty()
	return o.flying, dropped
}

// landed ends a flight well.
func (o *outbox) landed() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying, o.inAir = scheduler.Batch{}, false
	if !o.waiting.Empty() {
		return true
	}
	for _, c := range o.drained {
		close(c)
	}
	o.drained = nil
	return false
}

// owing is every claim of which an ending is owed.
func (o *outbox) owing() map[scheduler.Claim]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[scheduler.Claim]bool, len(o.waiting.Records)+len(o.flying.Records))
	for _, list := range [][]scheduler.Record{o.waiting.Records, o.flying.Records} {
		for _, r := range list {
			if r.Kind != scheduler.RecordStart {
				all[r.Claim] = true
			}
		}
	}
	return all
}

// whenEmpty is closed when nothing is owed.
func (o *outbox) whenEmpty() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := make(chan struct{})
	if o.waiting.Empty() && !o.inAir {
		close(c)
	} else {
		o.drained = append(o.drained, c)
	}
	return c
}
