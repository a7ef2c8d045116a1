package dispatch

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
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
	droppedSince      time.Time // since when runs end here that are not ours any more; zero: there are none
}

// reasserted: the database has been told what runs here. From reassert to the dispatcher.
type reasserted struct {
	scheduler.Asserted
	err error
}

// reassert takes again, before the next claim, what runs here and a crash of
// the database may have un-claimed.
func (d *dispatcher) reassert(c actor.Context) {
	d.claiming = true
	inst, ctx, self := d.inst, d.ctx, c.Self()
	holds, owed := make([]scheduler.Hold, 0, len(d.running)), inst.Outbox.Owing()
	// A run of which no actor knows does not end: it is the audit's, which comes after this.
	late := !d.droppedSince.IsZero() && time.Since(d.droppedSince) > auditPatience
	for _, hold := range d.running {
		hold.Over = late || owed[hold.Claim]
		holds = append(holds, hold)
	}
	m := &reasserted{}
	go func() {
		m.Asserted, m.err = inst.Holdings.Assert(ctx, inst.ID(), holds)
		inst.Send(self, m)
	}()
}

func (d *dispatcher) onReasserted(c actor.Context, m *reasserted) {
	if m.Again > 0 {
		d.inst.Log.Warn("the database had lost claims; they are taken again", "jobs", m.Again)
	}
	now := time.Now()
	switch {
	case m.err != nil:
		d.inst.Log.Warn("dispatcher: cannot reach the database", "error", m.err)
	case len(m.Lost) > 0:
		d.dropLost(m.Lost, now)
	case len(m.Not) > 0 && d.peersPendingSince.IsZero():
		d.peersPendingSince = now
		d.inst.Log.Warn("dispatcher: after a crash of the database, nothing is claimed before every instance "+
			"has said what it runs", "waits_for", m.Not)
	}
	if m.err != nil || len(m.Lost) > 0 || len(m.Not) > 0 && now.Sub(d.peersPendingSince) < d.inst.Lag {
		self := c.Self()
		d.inst.Later(self, d.pause.NextBackOff(), &resume{})
		return
	}
	d.pause.Reset()
	d.claiming, d.mustReassert, d.peersPendingSince, d.droppedSince = false, false, time.Time{}, time.Time{}
	d.connGeneration++
	d.happened(c, intake.Woken{Readmitted: true})
	d.auditDue = true
}

// dropLost ends runs whose jobs the database has given to others, or may give to them as soon as all have asserted.
func (d *dispatcher) dropLost(lost []scheduler.Claim, now time.Time) {
	if d.droppedSince.IsZero() {
		d.droppedSince = now
		d.inst.Log.Warn("dispatcher: the database does not have these claims; their runs are stopped first", "jobs", len(lost))
	}
	d.inst.Tell(message.RoleHosts, &message.Drop{Claims: lost})
	d.inst.Tell(message.RoleMSQs, &message.Drop{Claims: lost})
}

// reassertFirst: a connection was lost. What runs here is re-asserted before the next
// claim, and what was read before that tells nothing.
func (d *dispatcher) reassertFirst() {
	d.mustReassert = true
	d.connGeneration++
}
