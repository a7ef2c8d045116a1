package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// writing is one flush of the ledger's.
type writing struct {
	Ports
	till     time.Time // until then it may look for rows that are not locked
	deferred bool      // it has been tried before: locked rows are asked for first
	asked    bool
}

// flush writes the batch.
func (f writing) flush(ctx context.Context, b scheduler.Batch) (wrote, error) {
	if f.deferred {
		return f.writeUnlocked(ctx, b)
	}
	return f.all(ctx, b)
}

// searchMost bounds how long a flush looks for the jobs that it has to leave.
const searchMost = 3 * time.Second

// wrote is what became of a batch.
type wrote struct {
	stale    []scheduler.Claim
	released bool              // jobs that waited for what ended are ready now
	busy     []scheduler.JobID // nothing was written of these: their rows are locked by another session
}

func (w wrote) and(other wrote) wrote {
	return wrote{append(w.stale, other.stale...), w.released || other.released, append(w.busy, other.busy...)}
}

// all writes a batch. One that the database refuses is halved until the one
// record that it chokes on stands alone: that one is told of and let go, so
// that it does not hold up the others for ever.
func (f writing) all(ctx context.Context, b scheduler.Batch) (w wrote, err error) {
	b.Ring = f.Awaited.Among(b.Records, time.Now())
	w.stale, w.released, err = f.Records.Write(ctx, f.ID(), b, time.Now())
	if err == nil && len(w.stale) > 0 {
		b.MaybeCommitted = true // some of it is written
		var more bool
		w.stale, more, err = f.retake(ctx, b, w.stale)
		w.released = w.released || more
	}
	switch {
	case errors.Is(err, scheduler.ErrBusy):
		if len(b.Jobs()) == 0 {
			return wrote{}, err
		}
		more, err := f.writeUnlocked(ctx, b)
		return wrote{released: w.released}.and(more), err
	case !errors.Is(err, scheduler.ErrRefused):
		return w, err
	}
	switch n := len(b.Records); {
	case n > 0 && len(b.Entries)+len(b.Progress)+len(b.Failed)+len(b.HowFar) > 0:
		rest := b
		rest.Records = nil
		return f.both(ctx, rest, scheduler.Batch{Records: b.Records, MaybeCommitted: b.MaybeCommitted})
	case n > 1:
		return f.both(ctx, scheduler.Batch{Records: b.Records[:n/2], MaybeCommitted: b.MaybeCommitted},
			scheduler.Batch{Records: b.Records[n/2:], MaybeCommitted: b.MaybeCommitted})
	case n == 1:
		f.Log.Error("ledger: the database refuses an outcome; its job will be given up by the next audit",
			tree.Traced(b.Records[0].Line().Trace, "job", b.Records[0].Claim.Job, "error", err)...)
	default:
		f.Log.Error("ledger: the database refuses what agents said; it is dropped", "error", err, "lines",
			len(b.Entries), "items", len(b.Failed))
	}
	return wrote{}, nil
}

// both writes two parts of a batch, one after the other, but nothing of a job
// of which the first part could not be written.
func (f writing) both(ctx context.Context, first, second scheduler.Batch) (wrote, error) {
	w, err := f.all(ctx, first)
	if err != nil {
		return wrote{}, err
	}
	if len(w.busy) > 0 {
		_, second = second.Split(w.busy)
	}
	if second.Empty() {
		return w, nil
	}
	other, err := f.all(ctx, second)
	return w.and(other), err
}

// writeUnlocked writes the rows of a batch that are not locked. If that is refused once more, the write needs
// something else (by a user's trigger): then halving finds the job.
func (f writing) writeUnlocked(ctx context.Context, b scheduler.Batch) (wrote, error) {
	jobs := b.Jobs()
	busy, err := f.Records.Busy(ctx, jobs)
	if err != nil {
		return wrote{}, err
	}
	switch {
	case len(busy) > 0 || f.deferred && !f.asked:
		f.asked = true
	case len(jobs) > 1 && time.Now().Before(f.till):
		half, rest := b.Split(jobs[:len(jobs)/2])
		return f.both(ctx, half, rest)
	default:
		busy = jobs
	}
	w := wrote{busy: busy}
	_, rest := b.Split(busy)
	if rest.Empty() {
		return w, nil
	}
	others, err := f.all(ctx, rest)
	return w.and(others), err
}

// retake looks at starts and outcomes that found no row of ours: when a crash of the database has undone their
// claims, and no other instance has the jobs, they are taken again under their own fences and written. An attempt
// can begin or end before the dispatcher gets to re-assert what runs, or while it does.
func (f writing) retake(
	ctx context.Context, b scheduler.Batch, stale []scheduler.Claim,
) (still []scheduler.Claim, released bool, err error) {
	lost := scheduler.Batch{MaybeCommitted: b.MaybeCommitted}
	var holds []scheduler.Hold
	for _, r := range b.Records {
		if r.Kind != scheduler.RecordRequeue && slices.Contains(stale, r.Claim) {
			lost.Records = append(lost.Records, r)
			holds = append(holds, scheduler.Hold{Claim: r.Claim, Attempt: r.Attempt, Host: r.Host, CreatedAt: r.CreatedAt})
		}
	}
	if len(holds) == 0 {
		return stale, false, nil
	}
	n, err := f.Holdings.Reassert(ctx, f.ID(), holds)
	if err != nil {
		return nil, false, err
	}
	if n > 0 {
		f.Log.Warn("the database had lost claims; they are taken again", "jobs", n)
	}
	lost.Ring = f.Awaited.Among(lost.Records, time.Now())
	still, released, err = f.Records.Write(ctx, f.ID(), lost, time.Now())
	if err != nil {
		return nil, false, err
	}
	stale = slices.DeleteFunc(stale, func(c scheduler.Claim) bool {
		return slices.ContainsFunc(holds, func(x scheduler.Hold) bool { return x.Claim == c }) && !slices.Contains(still, c)
	})
	return stale, released, nil
}
