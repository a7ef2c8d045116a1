package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// assertion is whether what runs here is sure to be ours in the database.
type assertion struct {
	unsure     bool      // a connection was lost: re-assert before the next claim
	sure       int       // grows whenever unsure changes: what was read under another tells nothing
	doubtSince time.Time // since when others have to re-assert, zero: they have
}

// reasserted: the database has been told what runs here. From reassert to the dispatcher.
type reasserted struct {
	n   int
	not []string // instances that have not
	err error
}

// reassert takes again, before the next claim, what runs here and a crash of
// the database may have un-claimed.
func (d *dispatcher) reassert(c actor.Context) {
	d.claiming = true
	h, ctx, self := d.h, d.ctx, c.Self()
	holds := make([]scheduler.Hold, 0, len(d.running))
	for _, hold := range d.running {
		holds = append(holds, hold)
	}
	m := &reasserted{}
	go func() {
		m.n, m.not, m.err = h.Holdings.Assert(ctx, h.id(), holds)
		h.system.Root.Send(self, m)
	}()
}

func (d *dispatcher) onReasserted(c actor.Context, m *reasserted) {
	if m.n > 0 {
		d.h.Log.Warn("the database had lost claims; they are taken again", "jobs", m.n)
	}
	now := time.Now()
	switch {
	case m.err != nil:
		d.h.Log.Warn("dispatcher: cannot reach the database", "error", m.err)
	case len(m.not) > 0 && d.doubtSince.IsZero():
		d.doubtSince = now
		d.h.Log.Warn("dispatcher: after a crash of the database, nothing is claimed before every instance "+
			"has said what it runs", "waits_for", m.not)
	}
	if m.err != nil || len(m.not) > 0 && now.Sub(d.doubtSince) < d.h.Lag {
		self := c.Self()
		time.AfterFunc(d.pause.NextBackOff(), func() { d.h.system.Root.Send(self, &resume{}) })
		return
	}
	d.pause.Reset()
	d.claiming, d.unsure, d.doubtSince = false, false, time.Time{}
	d.sure++
	d.happened(c, intake.Woken{Readmitted: true})
	d.auditDue = true
}

// doubt: a connection was lost. What runs here is re-asserted before the next
// claim, and what was read before that tells nothing.
func (d *dispatcher) doubt() {
	d.unsure = true
	d.sure++
}
