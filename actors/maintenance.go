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
	busy         bool // a round of due is under way
	rerun        bool // and another is wanted after it
	timer        *time.Timer
	explaining   bool // jobs are being told why they wait
	explainTimer *time.Timer
	explainedAt  time.Time
	control      scheduler.ControlState // what operators wanted at the last round
}

func (m *maintenance) stop() {
	for _, t := range []*time.Timer{m.timer, m.explainTimer} {
		if t != nil {
			t.Stop()
		}
	}
}

// Messages of the dispatcher to itself.
type (
	dueDone struct {
		n       int
		next    time.Duration
		control scheduler.ControlState
		located intake.Located
		lost    error // why that is not known
		err     error
	}
	explainNow struct{}
	explained  struct{}
)

// due promotes what the clock has made ready, and arms one timer for the next;
// it does what operators have ordered, and finds out whom run_on names.
func (d *dispatcher) due(c actor.Context) {
	if d.maintenance.busy || !d.ready {
		d.maintenance.rerun = true
		return
	}
	d.maintenance.busy, d.maintenance.rerun = true, false
	inst, ctx, self := d.inst, d.ctx, c.Self()
	question := d.in.Question(time.Now())
	m := &dueDone{}
	go func() {
		m.n, m.next, m.err = inst.Queue.Due(ctx)
		if m.err == nil && inst.Commands != nil { // when what the clock says is done: commands may wait for it too
			m.control, m.err = inst.Commands.RunCommands(ctx, inst.id())
		}
		if m.err == nil {
			m.located, m.lost = inst.readKeys(ctx, question)
		}
		inst.system.Root.Send(self, m)
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
	d.onControl(c, m.control)
	if m.lost != nil {
		d.inst.Log.Warn("cannot find out where jobs are to run that name a locality", "error", m.lost)
		d.happened(c, intake.Looked{})
	} else {
		d.happened(c, m.located)
		mt.rerun = mt.rerun || d.in.Wonders() // named meanwhile
	}
	if mt.timer != nil {
		mt.timer.Stop()
		mt.timer = nil
	}
	if mt.rerun {
		d.due(c)
		return
	}
	if m.next >= 0 {
		self := c.Self()
		at := min(m.next+time.Millisecond, time.Hour)
		mt.timer = time.AfterFunc(at, func() { d.inst.system.Root.Send(self, &dueNow{}) })
	}
}

// explainSoon tells jobs why they wait, but not at once: a type that nobody serves
// may have come, and it takes the server longer than a claim.
func (d *dispatcher) explainSoon(c actor.Context) {
	mt := &d.maintenance
	if mt.explainTimer != nil {
		return
	}
	self := c.Self()
	wait := max(time.Second, time.Until(mt.explainedAt.Add(d.inst.Scan)))
	mt.explainTimer = time.AfterFunc(wait, func() { d.inst.system.Root.Send(self, &explainNow{}) })
}

// explainWaiting says in their rows why jobs wait. At most once a second, and only after
// something rang; looker is this instance where all of the queue is looked at meanwhile.
func (d *dispatcher) explainWaiting(c actor.Context, looker scheduler.InstanceID) {
	if d.maintenance.explaining || !d.ready {
		return
	}
	d.maintenance.explaining, d.maintenance.explainedAt = true, time.Now()
	inst, ctx, self := d.inst, d.ctx, c.Self()
	go func() {
		_, lost, err := inst.Notices.ExplainWaiting(ctx, looker)
		if err != nil && ctx.Err() == nil {
			inst.Log.Debug("dispatcher: cannot say why jobs wait", "error", err)
		}
		for _, job := range lost {
			inst.Log.Warn("a job is ready, was looked at and not taken, and no cause is known: this is a fault of bellhop; "+
				"please report it with what bellhop explain and bellhop doctor say", "job", job)
		}
		inst.system.Root.Send(self, &explained{})
	}()
}

// onControl takes what operators want now.
func (d *dispatcher) onControl(c actor.Context, s scheduler.ControlState) {
	was := d.maintenance.control
	if !slices.Equal(s.Paused, was.Paused) {
		d.inst.Log.Info("paused", "types", s.Paused)
	}
	if s.Stop != was.Stop && s.Stop != "" && d.inst.Stop != nil {
		d.inst.Log.Info("told to stop by a command in the queue", "how", s.Stop)
		d.inst.Stop(s.Stop)
	}
	if s.Attached && !d.inst.attached.Swap(true) {
		d.inst.scanRows()
	}
	d.maintenance.control = s
	d.happened(c, intake.Controlled{State: s})
}
