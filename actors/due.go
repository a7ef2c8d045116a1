package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// due promotes what the clock has made ready, and arms one timer for the next;
// it does what operators have ordered, and finds out whom run_on names.
func (d *dispatcher) due(c actor.Context) {
	if d.dueBusy || !d.ready {
		d.dueAgain = true
		return
	}
	d.dueBusy, d.dueAgain = true, false
	h, ctx, self := d.h, d.ctx, c.Self()
	question := d.places.question(time.Now(), h.Scan)
	question.ctx = ctx
	m := &dueDone{}
	go func() {
		m.n, m.next, m.err = h.Queue.Due(ctx)
		if m.err == nil && h.Orders != nil { // when what the clock says is done: commands may wait for it too
			m.standing, m.err = h.Orders.Obey(ctx, h.id())
		}
		if m.err == nil {
			m.keyed, m.lost = h.lookForKeys(question)
		}
		h.system.Root.Send(self, m)
	}()
}

func (d *dispatcher) onDue(c actor.Context, m *dueDone) {
	d.dueBusy = false
	if m.err == nil || m.n > 0 {
		d.again++
	}
	if m.n > 0 {
		d.ring++
	}
	if m.err != nil {
		return // the next scan tries again; what broke is told by the claim
	}
	d.onStanding(m.standing)
	if m.lost != nil {
		d.h.Log.Warn("cannot find out where jobs are to run that name a locality", "error", m.lost)
	} else if d.places.learn(d.h, m.keyed, time.Now()) {
		d.ring++
	}
	d.tellNowhere()
	if m.lost == nil && len(d.places.asked) > 0 { // named meanwhile
		d.dueAgain = true
	}
	if d.dueTimer != nil {
		d.dueTimer.Stop()
		d.dueTimer = nil
	}
	if d.dueAgain {
		d.due(c)
		return
	}
	if m.next >= 0 {
		self := c.Self()
		d.dueTimer = time.AfterFunc(min(m.next+time.Millisecond, time.Hour), func() { d.h.system.Root.Send(self, &dueNow{}) })
	}
}

// mark says in their rows why jobs wait. At most once a second, and only after
// something rang; looker is this instance where all of the queue is looked at meanwhile.
func (d *dispatcher) mark(c actor.Context, looker scheduler.InstanceID) {
	if d.waitBusy || !d.ready {
		return
	}
	d.waitBusy, d.markedAt = true, time.Now()
	h, ctx, self := d.h, d.ctx, c.Self()
	go func() {
		_, lost, err := h.Notices.MarkWaiting(ctx, looker)
		if err != nil && ctx.Err() == nil {
			h.Log.Debug("dispatcher: cannot say why jobs wait", "error", err)
		}
		for _, job := range lost {
			h.Log.Warn("a job is ready, was looked at and not taken, and no cause is known: this is a fault of bellhop; "+
				"please report it with what bellhop explain and bellhop doctor say", "job", job)
		}
		h.system.Root.Send(self, &marked{})
	}()
}

// onStanding takes what operators want now.
func (d *dispatcher) onStanding(s scheduler.Standing) {
	if !slices.Equal(s.Paused, d.standing.Paused) {
		d.h.Log.Info("paused", "types", s.Paused)
		d.ring++ // what was paused may start
	}
	if s.Stop != d.standing.Stop && s.Stop != "" && d.h.Stop != nil {
		d.h.Log.Info("told to stop by a command in the queue", "how", s.Stop)
		d.h.Stop(s.Stop)
	}
	if s.Attached && !d.h.attached.Swap(true) {
		d.h.lookAtRows()
	}
	d.standing = s
}
