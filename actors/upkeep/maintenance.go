package upkeep

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// maintenance sees to what the clock asks for, beside the hot path: jobs that
// are due or were changed by hand, claims of instances that are gone, operators'
// commands, dependencies to look at again, names in run_on, what waits for full
// hosts, and why jobs wait. What intake has to know of it, it tells the
// dispatcher as intake's own events. In which order those come is all the same.
type maintenance struct {
	MaintenancePorts
	// owned by Receive
	busy         bool // a round is under way
	rerun        bool // and another is wanted after it
	timer        *time.Timer
	question     *intake.Question       // what the next round has to find out of names
	control      scheduler.ControlState // what operators wanted at the last round
	explaining   bool                   // jobs are being told why they wait
	explainTimer *time.Timer
	explainedAt  time.Time
	looks        scheduler.Looks
	stands       message.Stands // how the dispatcher stands
	doubted      bool           // it was told of jobs for whose waiting no cause is known
	foretelling  bool           // the error of forecasts is being measured
	foretellAt   time.Time      // not before
	reserving    reserving
	ctx          context.Context
	cancel       context.CancelFunc
}

func NewMaintenance(h MaintenancePorts) *maintenance {
	return &maintenance{MaintenancePorts: h, question: &intake.Question{}}
}

// Messages of maintenance to itself.
type (
	roundOver struct {
		next    time.Time // when the clock has something to do again
		timed   bool      // there is such a time
		err     error
		control scheduler.ControlState
		took    time.Duration // to know that
		located intake.Located
		lost    error // why that is not known
	}
	explainNow struct{}
	explained  struct {
		looker bool
		found  scheduler.Explained
		over   time.Time // when that had been read
		err    error
	}
	foretold struct {
		whole bool
		again time.Time // of the whole, not before
	}
	agedNow  struct{} // a job that waits for a lock ages
	reserved struct { // for those that have aged
		n    int
		next time.Time
		took time.Duration
		err  error
	}
)

func (m *maintenance) Receive(c actor.Context) {
	switch msg := c.Message().(type) {
	case *actor.Started:
		m.ctx, m.cancel = context.WithCancel(context.Background())
		m.round(c)
	case *message.Joined, *message.DueNow:
		m.round(c)
	case *message.Rang:
		m.onRang(c, msg)
	case *intake.Question:
		if m.question = msg; len(msg.Asked) > 0 && !m.busy { // else it is asked anew after the answer
			m.round(c)
		}
	case *intake.Read:
		m.readBacklog(msg)
	case *roundOver:
		m.onRoundOver(c, msg)
	case *explainNow:
		m.explainTimer = nil
		m.explain(c, 0)
	case *message.Stands:
		m.onStanding(c, msg)
	case *explained:
		m.onExplained(msg)
	case *foretold:
		if m.foretelling = false; msg.whole {
			m.foretellAt = msg.again
		}
	case *message.Ages:
		m.reserving.Told(msg.At)
		m.armReserve(c)
	case *agedNow:
		m.reserve(c)
	case *reserved:
		m.onReserved(c, msg)
	case *actor.Stopping:
		m.cancel()
		for _, t := range []*time.Timer{m.timer, m.explainTimer, m.reserving.timer} {
			if t != nil {
				t.Stop()
			}
		}
	}
}

func (m *maintenance) onRang(c actor.Context, msg *message.Rang) {
	if !msg.Scan {
		m.explainSoon(c)
		return
	}
	m.round(c)
	m.explain(c, m.ID())
}

// round promotes what the clock has made ready, and arms one timer for the next; it does what operators have
// ordered, and finds the hosts that run_on names.
func (m *maintenance) round(c actor.Context) {
	if m.ID() == 0 { // registration sends joined
		return
	}
	if m.busy {
		m.rerun = true
		return
	}
	m.busy, m.rerun = true, false
	h, ctx, self, question := m.MaintenancePorts, m.ctx, c.Self(), m.question
	over := &roundOver{}
	m.reserving.Begun() // a round sees to ages, too
	go func() {
		n, in, err := h.Queue.Due(ctx)
		over.next, over.timed, over.err = time.Now().Add(in), in >= 0, err
		if err == nil || n > 0 { // what is due does not wait for commands
			h.Tell(message.RoleDispatcher, &intake.Promoted{Some: n > 0})
		}
		if over.err == nil { // when what the clock says is done: commands may wait for it too
			began := time.Now()
			over.control, over.err = h.Queue.RunCommands(ctx, h.ID())
			over.took = time.Since(began)
		}
		if over.err == nil {
			over.located, over.lost = h.readNames(ctx, question)
		}
		h.Send(self, over)
	}()
}

func (m *maintenance) onRoundOver(c actor.Context, over *roundOver) {
	m.busy = false
	if over.err != nil {
		return // the next scan tries again; what broke is told by the claim
	}
	m.reserving.Over(time.Now(), over.took, over.control.Reserves)
	m.armReserve(c)
	m.onControl(c, over.control)
	if over.lost != nil {
		m.Log.Warn("cannot find out where jobs are to run that name a locality", "error", over.lost)
		m.Tell(message.RoleDispatcher, &intake.Looked{})
	} else {
		m.Tell(message.RoleDispatcher, &over.located)
	}
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	if m.rerun {
		m.round(c)
		return
	}
	if over.timed {
		self := c.Self()
		m.timer = m.Later(self, min(time.Until(over.next)+time.Millisecond, time.Hour), &message.DueNow{})
	}
}

// onControl takes what operators want now.
func (m *maintenance) onControl(c actor.Context, now scheduler.ControlState) {
	was := m.control
	m.control = now
	if !slices.Equal(now.Paused, was.Paused) {
		m.Log.Info("paused", "types", now.Paused)
	}
	if now.Stop != was.Stop && now.Stop != "" && m.Stop != nil {
		m.Log.Info("told to stop by a command in the queue", "how", now.Stop)
		m.Stop(now.Stop)
	}
	if now.Attached && !m.Rows.Attached.Swap(true) {
		m.Rows.Scan()
	}
	if now.Locks || now.Promises {
		m.foretell(c, now.Promises)
	}
	m.Tell(message.RoleSensors, &now)
	m.Tell(message.RoleCourier, &now)
	m.Tell(message.RoleWatches, &now)
	m.Tell(message.RoleDispatcher, &intake.Controlled{State: now})
}

// explainSoon tells jobs why they wait, but not at once: a type without a host may have come, and the explanation
// takes the server longer than a claim.
func (m *maintenance) explainSoon(c actor.Context) {
	if m.explainTimer != nil {
		return
	}
	self := c.Self()
	wait := max(time.Second, time.Until(m.explainedAt.Add(m.Scan)))
	m.explainTimer = m.Later(self, wait, &explainNow{})
}

// explain says in their rows why jobs wait. At most once a second, and only after
// something rang; instance is this one where all of the queue is looked at meanwhile.
func (m *maintenance) explain(c actor.Context, instance scheduler.InstanceID) {
	if m.explaining || m.ID() == 0 {
		return
	}
	m.explaining, m.explainedAt = true, time.Now()
	looker := scheduler.Looker{Instance: instance, Still: m.stands.Still, Seen: m.looks.Before(m.stands.Rested)}
	h, ctx, self := m.MaintenancePorts, m.ctx, c.Self()
	go func() {
		over := &explained{looker: instance != 0}
		over.found, over.err = h.Queue.ExplainWaiting(ctx, looker)
		if over.err != nil && ctx.Err() == nil {
			h.Log.Debug("maintenance: cannot say why jobs wait", "error", over.err)
		}
		over.over = time.Now()
		h.Send(self, over)
	}()
}

// onExplained has the dispatcher tell of jobs that were passed over.
func (m *maintenance) onExplained(msg *explained) {
	m.explaining = false
	if !msg.looker || msg.err != nil {
		return
	}
	passed := m.looks.After(msg.found, m.stands.Rested, msg.over)
	if len(msg.found.Lost) > 0 || m.doubted {
		m.Tell(message.RoleDispatcher, &message.Doubts{Lost: msg.found.Lost, Passed: passed})
	}
	m.doubted = len(msg.found.Lost) > 0
}

// onStanding takes how the dispatcher stands. That it goes on is told at once.
func (m *maintenance) onStanding(c actor.Context, msg *message.Stands) {
	was := m.stands
	m.stands = *msg
	if was.Still.Why != "" && msg.Still.Why == "" {
		m.explain(c, m.ID())
	}
}

// readBacklog reads what waits for full hosts. The answer comes whatever becomes
// of this actor meanwhile: intake asks for one at a time.
func (m *maintenance) readBacklog(read *intake.Read) {
	h, ctx := m.MaintenancePorts, m.ctx
	answer := &intake.BacklogRead{Read: *read, Of: map[scheduler.HostName][]scheduler.Backlog{}}
	go func() {
		for name, answers := range read.Hosts {
			waiting, locked, err := h.Queue.Backlog(ctx, read.Types, read.Suspected, answers)
			answer.Of[name], answer.Locked = waiting, append(answer.Locked, locked...)
			if err != nil {
				answer.Failed = true
				break
			}
		}
		h.Tell(message.RoleDispatcher, answer)
	}()
}
