package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// maintenance is what the dispatcher sees to at the clock's bidding.
type maintenance struct {
	busy      bool // a round of due is under way
	again     bool // and another is wanted after it
	timer     *time.Timer
	marking   bool // jobs are being told why they wait
	markTimer *time.Timer
	markedAt  time.Time
	control   scheduler.Standing // what operators wanted at the last round
}

func (m *maintenance) stop() {
	for _, t := range []*time.Timer{m.timer, m.markTimer} {
		if t != nil {
			t.Stop()
		}
	}
}

// Messages of the dispatcher to itself.
type (
	dueDone struct {
		n        int
		next     time.Duration
		standing scheduler.Standing
		located  intake.Located
		lost     error // why that is not known
		err      error
	}
	markNow struct{}
	marked  struct{}
)

// due promotes what the clock has made ready, and arms one timer for the next;
// it does what operators have ordered, and finds out whom run_on names.
func (d *dispatcher) due(c actor.Context) {
	if d.maintenance.busy || !d.ready {
		d.maintenance.again = true
		return
	}
	d.maintenance.busy, d.maintenance.again = true, false
	h, ctx, self := d.h, d.ctx, c.Self()
	question := d.in.Question(time.Now())
	m := &dueDone{}
	go func() {
		m.n, m.next, m.err = h.Queue.Due(ctx)
		if m.err == nil && h.Orders != nil { // when what the clock says is done: commands may wait for it too
			m.standing, m.err = h.Orders.Obey(ctx, h.id())
		}
		if m.err == nil {
			m.located, m.lost = h.lookForKeys(ctx, question)
		}
		h.system.Root.Send(self, m)
	}()
}

func (d *dispatcher) onDue(c actor.Context, m *dueDone) {
	mt := &d.maintenance
	mt.busy = false
	if m.err == nil || m.n > 0 {
		d.happened(c, intake.Promoted{Some: m.n > 0})
	}
	if m.err != nil {
		return // the next scan tries again; what broke is told by the claim
	}
	d.onStanding(c, m.standing)
	if m.lost != nil {
		d.h.Log.Warn("cannot find out where jobs are to run that name a locality", "error", m.lost)
		d.happened(c, intake.Looked{})
	} else {
		d.happened(c, m.located)
		mt.again = mt.again || d.in.Wonders() // named meanwhile
	}
	if mt.timer != nil {
		mt.timer.Stop()
		mt.timer = nil
	}
	if mt.again {
		d.due(c)
		return
	}
	if m.next >= 0 {
		self := c.Self()
		at := min(m.next+time.Millisecond, time.Hour)
		mt.timer = time.AfterFunc(at, func() { d.h.system.Root.Send(self, &dueNow{}) })
	}
}

// markSoon tells jobs why they wait, but not at once: a type that nobody serves
// may have come, and it takes the server longer than a claim.
func (d *dispatcher) markSoon(c actor.Context) {
	mt := &d.maintenance
	if mt.markTimer != nil {
		return
	}
	self := c.Self()
	wait := max(time.Second, time.Until(mt.markedAt.Add(d.h.Scan)))
	mt.markTimer = time.AfterFunc(wait, func() { d.h.system.Root.Send(self, &markNow{}) })
}

// mark says in their rows why jobs wait. At most once a second, and only after
// something rang; looker is this instance where all of the queue is looked at meanwhile.
func (d *dispatcher) mark(c actor.Context, looker scheduler.InstanceID) {
	if d.maintenance.marking || !d.ready {
		return
	}
	d.maintenance.marking, d.maintenance.markedAt = true, time.Now()
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
func (d *dispatcher) onStanding(c actor.Context, s scheduler.Standing) {
	was := d.maintenance.control
	if !slices.Equal(s.Paused, was.Paused) {
		d.h.Log.Info("paused", "types", s.Paused)
	}
	if s.Stop != was.Stop && s.Stop != "" && d.h.Stop != nil {
		d.h.Log.Info("told to stop by a command in the queue", "how", s.Stop)
		d.h.Stop(s.Stop)
	}
	if s.Attached && !d.h.attached.Swap(true) {
		d.h.lookAtRows()
	}
	d.maintenance.control = s
	d.happened(c, intake.Controlled{Standing: s})
}
