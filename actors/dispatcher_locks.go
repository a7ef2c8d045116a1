package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// lookAgain has a pass made when a limit per time lets another job start, and a look when the next waiting job has
// aged.
func (d *dispatcher) lookAgain(c actor.Context, m *claimed, now time.Time) {
	if !m.ages.IsZero() {
		d.inst.tell(roleMaintenance, &ages{m.ages})
	}
	at := now.Add(m.again)
	if m.again <= 0 || d.limitAt.After(now) && !at.Before(d.limitAt) {
		return
	}
	d.limitAt = at
	self := c.Self()
	d.inst.later(self, m.again+time.Millisecond, &rang{locks: true})
}

func (d *dispatcher) onLockedNow(m *lockedNow) {
	if hold := d.running[m.Claim.Job]; hold.Claim == m.Claim {
		hold.Locked = true
		d.running[m.Claim.Job] = hold
	}
}
