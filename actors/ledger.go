package actors

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/scheduler"
)

// ledger is the only writer of outcomes. It writes what the outbox holds as
// soon as the last write is done: one job alone is written at once, thousands
// gather behind the write that is under way. No timer is involved.
type ledger struct {
	h *house
	// owned by Receive
	writing bool
	pause   *backoff.ExponentialBackOff
	ctx     context.Context
	cancel  context.CancelFunc
}

// written: a flight has ended, well or badly.
type written struct {
	batch    scheduler.Batch
	stale    []scheduler.Claim
	released bool
	err      error
}

// again: the pause after a failed flight is over.
type again struct{}

func newLedger(h *house) *ledger {
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(20*time.Millisecond),
		backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0))
	return &ledger{h: h, pause: pause}
}

func (l *ledger) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		l.ctx, l.cancel = context.WithCancel(context.Background())
		l.write(c) // what the last incarnation owed
	case *flushNow:
		l.write(c)
	case *written:
		l.onWritten(c, m)
	case *again:
		l.writing = false
		l.write(c)
	case *actor.Stopping:
		l.cancel()
	}
}

func (l *ledger) write(c actor.Context) {
	if l.writing {
		return
	}
	batch, dropped := l.h.outbox.take()
	if dropped > 0 {
		l.h.Log.Warn("ledger: agents say more than can be logged; lines dropped", "lines", dropped)
	}
	if batch.Empty() {
		return
	}
	l.writing = true
	ctx, h, self := l.ctx, l.h, c.Self()
	go func() {
		w := &written{batch: batch}
		w.stale, w.released, w.err = writeAll(ctx, h, batch)
		h.system.Root.Send(self, w)
	}()
}

// writeAll writes a batch. One that the database refuses is halved until the
// one record that it chokes on stands alone: that one is told of and let go,
// so that it does not hold up the others for ever.
func writeAll(ctx context.Context, h *house, b scheduler.Batch) (stale []scheduler.Claim, released bool, err error) {
	stale, released, err = h.Records.Write(ctx, h.id(), b, time.Now())
	if err == nil && len(stale) > 0 {
		var more bool
		stale, more, err = retake(ctx, h, b, stale)
		released = released || more
	}
	if !errors.Is(err, scheduler.ErrRefused) {
		return stale, released, err
	}
	if n := len(b.Records); n > 0 && len(b.Entries)+len(b.Progress)+len(b.Failed) > 0 {
		rest := b
		rest.Records = nil
		if _, _, err := writeAll(ctx, h, rest); err != nil {
			return nil, false, err
		}
		return writeAll(ctx, h, scheduler.Batch{Records: b.Records, Again: b.Again})
	} else if n > 1 {
		first, some, err := writeAll(ctx, h, scheduler.Batch{Records: b.Records[:n/2], Again: b.Again})
		if err != nil {
			return nil, false, err
		}
		second, more, err := writeAll(ctx, h, scheduler.Batch{Records: b.Records[n/2:], Again: b.Again})
		return append(first, second...), some || more, err
	} else if n == 1 {
		h.Log.Error("ledger: the database refuses an outcome; its job will be given up by the next audit",
			traced(b.Records[0].Result.Line.Trace, "job", b.Records[0].Claim.Job, "error", err)...)
		return nil, false, nil
	}
	h.Log.Error("ledger: the database refuses what agents said; it is dropped", "error", err, "lines", len(b.Entries), "items", len(b.Failed))
	return nil, false, nil
}

// retake looks at starts and outcomes that found no row of ours: when a crash
// of the database has undone their claims, and nobody else has the jobs, they
// are taken again under their own fences and written. An attempt can begin or
// end before the dispatcher gets to re-assert what runs, or while it does.
func retake(ctx context.Context, h *house, b scheduler.Batch, stale []scheduler.Claim) (still []scheduler.Claim, released bool, err error) {
	lost := scheduler.Batch{Again: b.Again}
	var holds []scheduler.Hold
	for _, r := range b.Records {
		if r.Kind != scheduler.RecordGiveBack && slices.Contains(stale, r.Claim) {
			lost.Records = append(lost.Records, r)
			holds = append(holds, scheduler.Hold{Claim: r.Claim, Attempt: r.Attempt, Host: r.Host})
		}
	}
	if len(holds) == 0 {
		return stale, false, nil
	}
	n, err := h.Holdings.Reassert(ctx, h.id(), holds)
	if err != nil {
		return nil, false, err
	}
	if n > 0 {
		h.Log.Warn("the database had lost claims; they are taken again", "jobs", n)
	}
	still, released, err = h.Records.Write(ctx, h.id(), lost, time.Now())
	if err != nil {
		return nil, false, err
	}
	stale = slices.DeleteFunc(stale, func(c scheduler.Claim) bool {
		return slices.ContainsFunc(holds, func(x scheduler.Hold) bool { return x.Claim == c }) && !slices.Contains(still, c)
	})
	return stale, released, nil
}

func (l *ledger) onWritten(c actor.Context, m *written) {
	if m.err != nil {
		wait := l.pause.NextBackOff()
		l.h.Log.Warn("ledger: cannot write; what is owed is kept", "records", len(m.batch.Records), "again_in", wait.Round(time.Millisecond), "error", m.err)
		l.h.tell(roleDispatcher, &unsure{})
		self := c.Self()
		time.AfterFunc(wait, func() { l.h.system.Root.Send(self, &again{}) })
		return
	}
	l.pause.Reset()
	l.writing = false
	for _, s := range m.stale {
		trace := ""
		if i := slices.IndexFunc(m.batch.Records, func(r scheduler.Record) bool { return r.Claim == s && r.Kind != scheduler.RecordStart }); i >= 0 {
			trace = m.batch.Records[i].Result.Line.Trace
		}
		l.h.Log.Warn("stale owner: the job is not ours any more, its outcome is not recorded", traced(trace, "job", s.Job, "fence", s.Fence)...)
	}
	if m.released { // those who waited for what has ended: do not wait for the bell
		l.h.tell(roleDispatcher, &rang{})
	}
	if len(m.batch.Records) > 0 {
		l.h.lookAtRows()
		done := &settled{Stale: m.stale, Claims: make([]scheduler.Claim, 0, len(m.batch.Records))}
		delayed := false
		for i := range m.batch.Records {
			r := &m.batch.Records[i]
			if r.Kind != scheduler.RecordStart {
				done.Claims = append(done.Claims, r.Claim)
			}
			if r.Kind == scheduler.RecordGiveBack {
				done.Back = append(done.Back, r.Claim)
			}
			delayed = delayed || r.Verdict.State == scheduler.Scheduled
		}
		if delayed {
			l.h.tell(roleDispatcher, &dueNow{})
		}
		l.h.tell(roleDispatcher, done)
	}
	if l.h.outbox.landed() { // after that: what is not owed any more, the dispatcher has been told of
		l.write(c)
	}
}
