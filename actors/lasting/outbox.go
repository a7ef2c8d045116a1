// Package lasting has what outlives an actor: pending outcomes, processes and
// their places, and hints. Each part guards itself and names its writers.
package lasting

import (
	"sync"
	"time"

	"bellhop/scheduler"
)

// entriesMost bounds what waits to be logged: past it what agents say is
// dropped and counted, never the jobs.
const entriesMost = 50_000

// batchMost is how many records go into one transaction.
const batchMost = 2000

// owedMost is how many records may wait before nothing new is begun: what ends
// faster than the database takes it would be kept without bound.
const owedMost = 5 * batchMost

// Outbox is what this instance owes the database. It is not inside the ledger
// so that the ledger can die and owe nothing less.
type Outbox struct {
	wake     func()
	awaited  *Awaited
	mu       sync.Mutex
	waiting  scheduler.Batch
	inFlight scheduler.Batch    // in a transaction whose end is not known
	spare    []scheduler.Record // room for what is to wait next: not in use any more
	flushing bool
	deferred deferred
	latest   map[scheduler.JobID]int // index in waiting.Progress
	far      howFar
	dropped  int
	asked    bool // the ledger has been woken for what waits
	hurry    bool // and among it is something that does not wait while the ledger rests
	drained  []chan struct{}
}

// NewOutbox makes one that wakes the ledger when something is owed, at once for awaited jobs.
func NewOutbox(wake func(), awaited *Awaited) *Outbox {
	return &Outbox{wake: wake, awaited: awaited, latest: map[scheduler.JobID]int{}}
}

// add adds to what waits, and wakes the ledger if it does not know of it.
func (o *Outbox) add(hurry bool, put func(waiting *scheduler.Batch)) {
	o.mu.Lock()
	put(&o.waiting)
	known := o.asked && (o.hurry || !hurry)
	o.asked, o.hurry = true, o.hurry || hurry
	o.mu.Unlock()
	if !known {
		o.wake()
	}
}

// Owe takes pending outcomes of jobs. If no client waits for any of them, they may wait while the ledger rests.
func (o *Outbox) Owe(records ...scheduler.Record) {
	hurry := len(o.awaited.Among(records, time.Now())) > 0
	for i := range records {
		hurry = hurry || records[i].Hurries()
	}
	o.add(hurry, func(b *scheduler.Batch) {
		b.Records = append(b.Records, records...)
		o.far.noMore(records)
	})
}

// CanRest reports whether all that waits may wait for a moment longer.
func (o *Outbox) CanRest() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.hurry && !o.flushing && len(o.drained) == 0
}

// Entries takes what agents say on its way to bellhop.log. It never blocks.
func (o *Outbox) Entries(list []scheduler.Entry) {
	o.add(false, func(b *scheduler.Batch) {
		if room := entriesMost - len(b.Entries); len(list) > room {
			o.dropped += len(list) - room
			list = list[:room]
		}
		b.Entries = append(b.Entries, list...)
	})
}

// Note logs a remark against a job and keeps it with the job.
func (o *Outbox) Note(c scheduler.Claim, attempt int, host scheduler.HostName, text string) {
	o.Entries([]scheduler.Entry{
		{Claim: c, Attempt: attempt, Host: host, Level: scheduler.LevelNote, At: time.Now(), Text: text},
	})
}

// Failed takes items that are not tried again.
func (o *Outbox) Failed(items ...scheduler.FailedItem) {
	o.add(false, func(b *scheduler.Batch) { b.Failed = append(b.Failed, items...) })
}

// Progress keeps the latest figures of each job only.
func (o *Outbox) Progress(p scheduler.Progress) {
	o.add(false, func(b *scheduler.Batch) {
		if i, ok := o.latest[p.Job]; ok {
			b.Progress[i] = p
			return
		}
		o.latest[p.Job] = len(b.Progress)
		b.Progress = append(b.Progress, p)
	})
}

// Take starts a flush: what an earlier flush could not settle, what was
// deferred, or what waits.
func (o *Outbox) Take(now time.Time) (b scheduler.Batch, deferred bool, dropped int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dropped, o.dropped = o.dropped, 0
	if o.flushing {
		o.inFlight.MaybeCommitted = true
		return o.inFlight, o.deferred.inFlight, dropped
	}
	if o.deferred.due(now) {
		o.inFlight, o.flushing = o.deferred.take(), true
		return o.inFlight, true, dropped
	}
	o.asked, o.hurry = false, false
	o.inFlight = o.deferred.add(o.waiting)
	o.waiting = scheduler.Batch{Records: o.spare}
	o.spare = nil
	clear(o.latest)
	if n := len(o.inFlight.Records); n > batchMost {
		o.waiting.Records = append(o.waiting.Records, o.inFlight.Records[batchMost:]...)
		o.inFlight.Records = o.inFlight.Records[:batchMost]
		o.asked, o.hurry = true, true
	}
	o.flushing = !o.inFlight.Empty()
	return o.inFlight, false, dropped
}

// Acked ends a flush well, but for jobs whose rows are locked: they are
// deferred. It gives those that are so for the first time.
func (o *Outbox) Acked(busy []scheduler.JobID, now time.Time) (first []scheduler.JobID, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	done := o.inFlight.Records
	if o.deferred.inFlight || cap(done) > batchMost {
		done = nil
	}
	first = o.deferred.acked(o.inFlight, busy, now)
	clear(done)
	o.spare = done[:0]
	o.inFlight, o.flushing = scheduler.Batch{}, false
	if !o.waiting.Empty() {
		return first, true
	}
	if len(o.deferred.jobs) == 0 {
		for _, c := range o.drained {
			close(c)
		}
		o.drained = nil
	}
	return first, false
}

// DeferredAt is when what is deferred is to be tried again; zero: there is nothing.
func (o *Outbox) DeferredAt() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.deferred.jobs) == 0 {
		return time.Time{}
	}
	return o.deferred.at
}

// Full reports whether so much is owed that nothing new is to be begun.
func (o *Outbox) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting.Records)+len(o.inFlight.Records)+len(o.deferred.batch.Records) >= owedMost
}

// Owing is every claim of which an ending is owed.
func (o *Outbox) Owing() map[scheduler.Claim]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[scheduler.Claim]bool, len(o.waiting.Records)+len(o.inFlight.Records))
	for _, list := range [][]scheduler.Record{o.waiting.Records, o.inFlight.Records, o.deferred.batch.Records} {
		for _, r := range list {
			if r.Kind != scheduler.RecordStart {
				all[r.Claim] = true
			}
		}
	}
	return all
}

// WhenEmpty is closed when nothing is owed.
func (o *Outbox) WhenEmpty() <-chan struct{} {
	o.mu.Lock()
	c := make(chan struct{})
	owes := !o.waiting.Empty() || o.flushing || len(o.deferred.jobs) > 0
	if owes {
		o.drained = append(o.drained, c)
	} else {
		close(c)
	}
	o.mu.Unlock()
	if owes { // the ledger does not rest any more
		o.wake()
	}
	return c
}
