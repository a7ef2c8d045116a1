package dispatch

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// assertion is whether what runs here is sure to be ours in the database.
type assertion struct {
	mustReassert bool // a connection was lost: re-assert before the next claim
	// connGeneration grows with every lost or re-asserted connection; an answer read
	// in an older generation is ignored.
	connGeneration    int
	peersPendingSince time.Time // since when others have to re-assert, zero: they have
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
	inst, ctx, self := d.inst, d.ctx, c.Self()
	holds := make([]scheduler.Hold, 0, len(d.running))
	for _, hold := range d.running {
		holds = append(holds, hold)
	}
	m := &reasserted{}
	go func() {
		m.n, m.not, m.err = inst.Holdings.Assert(ctx, inst.ID(), holds)
		inst.Send(self, m)
	}()
}

func (d *dispatcher) onReasserted(c actor.Context, m *reasserted) {
	if m.n > 0 {
		d.inst.Log.Warn("the database had lost claims; they are taken again", "jobs", m.n)
	}
	now := time.Now()
	switch {
	case m.err != nil:
		d.inst.Log.Warn("dispatcher: cannot reach the database", "error", m.err)
	case len(m.not) > 0 && d.peersPendingSince.IsZero():
		d.peersPendingSince = now
		d.inst.Log.Warn("dispatcher: after a crash of the database, nothing is claimed before every instance "+
			"has said what it runs", "waits_for", m.not)
	}
	if m.err != nil || len(m.not) > 0 && now.Sub(d.peersPendingSince) < d.inst.Lag {
		self := c.Self()
		d.inst.Later(self, d.pause.NextBackOff(), &resume{})
		return
	}
	d.pause.Reset()
	d.claiming, d.mustReassert, d.peersPendingSince = false, false, time.Time{}
	d.connGeneration++
	d.happened(c, intake.Woken{Readmitted: true})
	d.auditDue = true
}

// reassertFirst: a connection was lost. What runs here is re-asserted before the next
// claim, and what was read before that tells nothing.
func (d *dispatcher) reassertFirst() {
	d.mustReassert = true
	d.connGeneration++
}
