package lasting

import (
	"slices"
	"time"

	"bellhop/scheduler"
)

// How long what is deferred rests before it is tried again: longer each time.
const (
	deferFirst = 100 * time.Millisecond
	deferMost  = 2 * time.Second
)

// deferJobs is how many of them are tried at once.
const deferJobs = batchMost / 2

// deferred is what is owed of jobs whose rows another transaction has locked:
// an app's that has cancelled one and has not committed yet. It waits for that
// commit, in its order, and no other record waits with it.
type deferred struct {
	batch    scheduler.Batch // records, and the last progress of each job
	jobs     []scheduler.JobID
	at       time.Time     // when it is tried again
	pause    time.Duration // and how long after that, if in vain
	inFlight bool          // it is tried just now
}

// due reports whether it is to be tried.
func (a *deferred) due(now time.Time) bool { return len(a.jobs) > 0 && !now.Before(a.at) }

// take gives what is to be tried, which flies alone: all that is owed of so many
// jobs as make about one flush.
func (a *deferred) take() scheduler.Batch {
	a.inFlight = true
	jobs := a.batch.Jobs()
	if len(jobs) <= deferJobs {
		b := a.batch
		a.batch = scheduler.Batch{}
		return b
	}
	b, rest := a.batch.Split(jobs[:deferJobs])
	a.batch = rest
	return b
}

// add takes what is owed later of jobs that are deferred, and gives the rest.
func (a *deferred) add(b scheduler.Batch) (rest scheduler.Batch) {
	if len(a.jobs) == 0 {
		return b
	}
	of, rest := b.Split(a.jobs)
	a.batch.Records = append(a.batch.Records, of.Records...)
	for _, p := range of.Progress {
		a.batch.Progress = append(
			slices.DeleteFunc(a.batch.Progress, func(old scheduler.Progress) bool { return old.Job == p.Job }), p)
	}
	return rest
}

// acked hears which jobs of a flush were row-locked, and gives those
// that are so for the first time.
func (a *deferred) acked(b scheduler.Batch, busy []scheduler.JobID, now time.Time) (first []scheduler.JobID) {
	was := a.jobs
	switch {
	case a.inFlight && len(busy) == 0:
		a.at, a.pause = now, deferFirst // the rest of them at once
	case a.inFlight:
		a.pause = min(2*a.pause, deferMost)
		a.at = now.Add(a.pause)
	case len(busy) == 0:
		return nil
	case len(was) == 0:
		a.pause = deferFirst
		a.at = now.Add(a.pause)
	} // else it is tried when it would have been: new ones do not put it off
	a.inFlight = false
	of, _ := b.Split(busy)
	// Behind the others: a row locked for long does not delay them.
	a.batch.Records = append(a.batch.Records, of.Records...)
	a.batch.Progress = append(a.batch.Progress, of.Progress...)
	a.batch.MaybeCommitted = a.batch.MaybeCommitted || len(busy) > 0 && of.MaybeCommitted
	if a.jobs = a.batch.Jobs(); len(a.jobs) == 0 {
		a.batch = scheduler.Batch{}
	}
	for _, j := range a.jobs {
		if !slices.Contains(was, j) {
			first = append(first, j)
		}
	}
	return first
}
