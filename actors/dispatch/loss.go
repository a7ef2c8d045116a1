package dispatch

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// lookBackAgain is the pause before a look that failed is made again.
const lookBackAgain = time.Second

// lookedBack: what the new server does not have is known. To the dispatcher itself.
type lookedBack struct {
	of          *message.LookBack
	gone, again int
	err         error
}

// lookBack asks the server about what has run here, and what runs.
func (d *dispatcher) lookBack(c actor.Context, m *message.LookBack) {
	if len(m.Runs) == 0 { // else it is the second try
		m.Runs = d.inst.Confirmed(m.Since)
		for _, hold := range d.running {
			m.Runs = append(m.Runs, scheduler.Run{Claim: hold.Claim, CreatedAt: hold.CreatedAt})
		}
	}
	inst, ctx, self := d.inst, d.ctx, c.Self()
	go func() {
		done := &lookedBack{of: m}
		done.gone, done.again, done.err = inst.Holdings.LookBack(ctx, inst.ID(), m.LookBack)
		inst.Send(self, done)
	}()
}

func (d *dispatcher) onLookedBack(c actor.Context, m *lookedBack) {
	switch {
	case m.err != nil:
		self := c.Self()
		d.inst.Later(self, lookBackAgain, m.of)
	case m.gone+m.again == 0 && m.of.Behind == 0:
		d.inst.Log.Warn("another server of the database answers; of what has run here nothing is missing there",
			"was", m.of.Was, "server", m.of.Server)
	default:
		d.inst.Log.Error("another server of the database answers, and it has lost what the one before it had confirmed; "+
			"see: bellhop doctor", "was", m.of.Was, "server", m.of.Server, "runs_without_a_row", m.gone,
			"runs_made_again", m.again, "behind", m.of.Behind)
	}
}
