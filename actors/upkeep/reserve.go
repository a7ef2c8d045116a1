package upkeep

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler/intake"
	"bellhop/scheduler/lock"
)

// reserving is when the next job that waits for a lock ages: locks are kept for it from then on, and not from the next
// safety scan on. Passes tell, and so does each look at all that wait.
type reserving struct {
	lock.Looks
	busy  bool        // a look is under way
	timer *time.Timer // for the next one; nil: none is wanted
}

// armReserve arms one timer for the next look, or drops it.
func (m *maintenance) armReserve(c actor.Context) {
	r := &m.reserving
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if at := r.At(); !at.IsZero() && !r.busy {
		self := c.Self()
		r.timer = m.Later(self, time.Until(at), &agedNow{})
	}
}

// reserve has locks kept for the jobs that have aged.
func (m *maintenance) reserve(c actor.Context) {
	if at := m.reserving.At(); m.reserving.busy || at.IsZero() || time.Now().Before(at) {
		return // the timer rang before it was dropped
	}
	m.reserving.busy = true
	m.reserving.Begun()
	h, ctx, self := m.MaintenancePorts, m.ctx, c.Self()
	go func() {
		over, began := &reserved{}, time.Now()
		over.n, over.next, over.err = h.Queue.Reserve(ctx)
		over.took = time.Since(began)
		h.Send(self, over)
	}()
}

// onReserved has a pass made if a job is newly reserved for: it may come before another one now. After an error the
// safety scan looks.
func (m *maintenance) onReserved(c actor.Context, over *reserved) {
	m.reserving.busy = false
	m.reserving.Over(time.Now(), over.took, over.next)
	m.armReserve(c)
	if over.n > 0 {
		m.Tell(message.RoleDispatcher, &intake.LocksWoken{})
	}
}
