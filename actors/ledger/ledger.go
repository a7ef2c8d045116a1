// Package ledger writes what the outbox holds, and no other package does.
package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// ledger is the only writer of outcomes. It writes what the outbox holds as
// soon as the last write is done: one job alone is written at once, thousands
// gather behind the write that is under way. After a write it rests, as
// scheduler.Rest says, unless there is something that hurries, or the write has
// released others.
type ledger struct {
	Ports
	// owned by Receive
	writing bool
	wrote   time.Time   // when the last write was begun
	rest    time.Time   // until when what can wait does
	resting bool        // it is woken then
	retry   *time.Timer // of what is deferred
	pause   *backoff.ExponentialBackOff
	ctx     context.Context
	cancel  context.CancelFunc
}

// written: a flush has ended, well or badly.
type written struct {
	batch scheduler.Batch
	wrote
	err error
}

// deferredDue: it is time to try what was deferred. To itself.
type deferredDue struct{}

// rested: the rest after a write is over. To itself.
type rested struct{}

// retryFlush: the pause after a failed flush is over.
type retryFlush struct{}

func New(h Ports) *ledger {
	pause := backoff.NewExponentialBackOff(backoff.WithInitialInterval(20*time.Millisecond),
		backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0))
	return &ledger{Ports: h, pause: pause}
}

func (l *ledger) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		l.ctx, l.cancel = context.WithCancel(context.Background())
		l.write(c) // what the last incarnation owed
	case *message.FlushNow, *deferredDue:
		l.write(c)
	case *rested:
		l.resting = false
		l.write(c)
	case *written:
		l.onWritten(c, m)
	case *retryFlush:
		l.writing = false
		l.write(c)
	case *actor.Stopping:
		l.cancel()
		if l.retry != nil {
			l.retry.Stop()
		}
	}
}

func (l *ledger) write(c actor.Context) {
	if l.writing || l.rests(c) {
		return
	}
	batch, deferred, dropped := l.Outbox.Take(time.Now())
	if dropped > 0 {
		l.Log.Warn("ledger: agents say more than can be logged; lines dropped", "lines", dropped)
	}
	if batch.Empty() {
		l.armDeferred(c)
		return
	}
	l.writing, l.wrote = true, time.Now()
	ctx, h, self := l.ctx, l.Ports, c.Self()
	go func() {
		w := &written{batch: batch}
		w.wrote, w.err = writing{Ports: h, till: time.Now().Add(searchMost), deferred: deferred}.flush(ctx, batch)
		h.Send(self, w)
	}()
}

// rests reports whether what is owed waits for the end of the rest.
func (l *ledger) rests(c actor.Context) bool {
	left := time.Until(l.rest)
	if left <= 0 || !l.Outbox.CanRest() {
		return false
	}
	if !l.resting {
		l.resting = true
		l.Later(c.Self(), left, &rested{})
	}
	return true
}

func (l *ledger) onWritten(c actor.Context, m *written) {
	if m.err != nil {
		l.onFailed(c, m)
		return
	}
	l.pause.Reset()
	l.writing = false
	now := time.Now()
	l.rest = now.Add(scheduler.Rest(now.Sub(l.wrote), len(m.batch.Records)))
	if m.released { // what ends next may release more
		l.rest = now
	}
	l.warnStale(m)
	if m.released { // jobs that waited for what has ended: do not wait for the bell
		l.Ring(&message.Rang{})
	}
	records := m.batch.Records
	if len(m.busy) > 0 {
		_, written := m.batch.Split(m.busy)
		records = written.Records
	}
	if len(records) > 0 {
		l.confirm(records, m.stale, now)
	}
	// After that: what is not owed any more, the dispatcher has been told of.
	full := l.Outbox.Full()
	first, more := l.Outbox.Acked(m.busy, time.Now())
	if full && !l.Outbox.Full() {
		l.Tell(message.RoleDispatcher, &message.Settled{}) // it may have looked before
	}
	for _, job := range first {
		l.Log.Warn("ledger: another open transaction has locked a job's row; the outcome is recorded when that ends", "job", job)
	}
	if more {
		l.write(c)
	} else {
		l.armDeferred(c)
	}
}

func (l *ledger) onFailed(c actor.Context, m *written) {
	wait := l.pause.NextBackOff()
	l.Log.Warn("ledger: cannot write; what is owed is kept",
		"records", len(m.batch.Records), "again_in", wait, "error", m.err)
	l.Tell(message.RoleDispatcher, &message.ConnLost{})
	l.Later(c.Self(), wait, &retryFlush{})
}

func (l *ledger) warnStale(m *written) {
	for _, s := range m.stale {
		trace := ""
		if i := slices.IndexFunc(m.batch.Records, func(r scheduler.Record) bool {
			return r.Claim == s && r.Kind != scheduler.RecordStart
		}); i >= 0 {
			trace = m.batch.Records[i].Line().Trace
		}
		l.Log.Warn("stale owner: the job is not ours any more, its outcome is not recorded",
			tree.Traced(trace, "job", s.Job, "fence", s.Fence)...)
	}
}

// confirm tells the dispatcher of claims whose outcomes are written.
func (l *ledger) confirm(records []scheduler.Record, stale []scheduler.Claim, now time.Time) {
	l.Recent.confirmed(records, stale, now)
	l.Rows.Scan()
	done := &message.Settled{Stale: stale, Claims: make([]scheduler.Claim, 0, len(records))}
	delayed := false
	for i := range records {
		r := &records[i]
		if r.Kind != scheduler.RecordStart {
			done.Claims = append(done.Claims, r.Claim)
		}
		if r.Kind == scheduler.RecordRequeue {
			done.Back = append(done.Back, r.Claim)
		}
		delayed = delayed || r.Verdict.State == scheduler.Scheduled
	}
	if delayed {
		l.Tell(message.RoleMaintenance, &message.DueNow{})
	}
	l.Tell(message.RoleDispatcher, done)
}

// armDeferred wakes the ledger when what is deferred is to be tried again.
func (l *ledger) armDeferred(c actor.Context) {
	at := l.Outbox.DeferredAt()
	if at.IsZero() {
		return
	}
	if l.retry != nil {
		l.retry.Stop()
	}
	self := c.Self()
	l.retry = l.Later(self, time.Until(at), &deferredDue{})
}
