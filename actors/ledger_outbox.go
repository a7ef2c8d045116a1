package actors

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

// outbox is what this instance owes the database. It is not inside the ledger
// so that the ledger can die and owe nothing less.
type outbox struct {
	wake     func()
	awaited  *awaited
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

// newOutbox makes one that wakes the ledger when something is owed, at once for awaited jobs.
func newOutbox(wake func(), awaited *awaited) *outbox {
	return &outbox{wake: wake, awaited: awaited, latest: map[scheduler.JobID]int{}}
}

// add adds to what waits, and wakes the ledger if it does not know of it.
func (o *outbox) add(hurry bool, put func(waiting *scheduler.Batch)) {
	o.mu.Lock()
	put(&o.waiting)
	known := o.asked && (o.hurry || !hurry)
	o.asked, o.hurry = true, o.hurry || hurry
	o.mu.Unlock()
	if !known {
		o.wake()
	}
}

// owe takes pending outcomes of jobs. If no client waits for any of them, they may wait while the ledger rests.
func (o *outbox) owe(records ...scheduler.Record) {
	hurry := len(o.awaited.among(records, time.Now())) > 0
	for i := range records {
		hurry = hurry || records[i].Hurries()
	}
	o.add(hurry, func(b *scheduler.Batch) {
		b.Records = append(b.Records, records...)
		o.far.noMore(records)
	})
}

// canRest reports whether all that waits may wait for a moment longer.
func (o *outbox) canRest() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.hurry && !o.flushing && len(o.drained) == 0
}

// entries takes what agents say on its way to bellhop.log. It never blocks.
func (o *outbox) entries(list []scheduler.Entry) {
	o.add(false, func(b *scheduler.Batch) {
		if room := entriesMost - len(b.Entries); len(list) > room {
			o.dropped += len(list) - room
			list = list[:room]
		}
		b.Entries = append(b.Entries, list...)
	})
}

// note logs a remark against a job and keeps it with the job.
func (o *outbox) note(c scheduler.Claim, attempt int, host scheduler.HostName, text string) {
	o.entries([]scheduler.Entry{
		{Claim: c, Attempt: attempt, Host: host, Level: scheduler.LevelNote, At: time.Now(), Text: text},
	})
}

// failed takes items that are not tried again.
func (o *outbox) failed(items ...scheduler.FailedItem) {
	o.add(false, func(b *scheduler.Batch) { b.Failed = append(b.Failed, items...) })
}

// progress keeps the latest figures of each job only.
func (o *outbox) progress(p scheduler.Progress) {
	o.add(false, func(b *scheduler.Batch) {
		if i, ok := o.latest[p.Job]; ok {
			b.Progress[i] = p
			return
		}
		o.latest[p.Job] = len(b.Progress)
		b.Progress = append(b.Progress, p)
	})
}

// take starts a flush: what an earlier flush could not settle, what was
// deferred, or what waits.
func (o *outbox) take(now time.Time) (b scheduler.Batch, deferred bool, dropped int) {
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

// acked ends a flush well, but for jobs whose rows are locked: they are
// deferred. It gives those that are so for the first time.
func (o *outbox) acked(busy []scheduler.JobID, now time.Time) (first []scheduler.JobID, more bool) {
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

// deferredAt is when what is deferred is to be tried again; zero: there is nothing.
func (o *outbox) deferredAt() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.deferred.jobs) == 0 {
		return time.Time{}
	}
	return o.deferred.at
}

// full reports whether so much is owed that nothing new is to be begun.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting.Records)+len(o.inFlight.Records)+len(o.deferred.batch.Records) >= owedMost
}

// owing is every claim of which an ending is owed.
func (o *outbox) owing() map[scheduler.Claim]bool {
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

// whenEmpty is closed when nothing is owed.
func (o *outbox) whenEmpty() <-chan struct{} {
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
