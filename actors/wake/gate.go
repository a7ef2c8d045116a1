package wake

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// gate spares producers the ringing while this instance is awake: as long as
// they do not ring, it does, every few ms; and when little comes, it sees to it
// that they ring again before it stops. scheduler.Gate is the protocol,
// scheduler.WakePolicy says when.
type gate struct {
	GatePorts
	// owned by Receive
	state   scheduler.Gate
	policy  scheduler.WakePolicy
	timer   *time.Timer
	let     context.CancelFunc // of the last ask
	reading bool               // whether producers block each other
	said    tree.Complaint     // of why the gate could not be had
}

// Messages of the gate to itself.
type (
	gateTick  struct{}
	contended bool // whether producers wait for each other
	gateShut  struct{ ask int }
	gateOver  struct {
		ask int
		err error
	}
)

var scanNow = &message.Rang{ByGate: true}

func NewGate(h GatePorts) *gate { return &gate{GatePorts: h, let: func() {}} }

func (g *gate) Receive(c actor.Context) {
	now := time.Now()
	switch m := c.Message().(type) {
	case *actor.Started: // awake: an earlier holder has let go
		self := c.Self()
		tick := &gateTick{}
		g.timer = g.Later(self, 0, tick)
		g.policy = g.policy.Woke(now)
		g.Show.Store(int32(g.state.State))
	case *gateTick:
		if g.state.State == scheduler.GateAwake {
			var quiet bool
			if g.policy, quiet = g.policy.Quiet(now); quiet {
				g.policy = g.policy.Asked(now)
				g.step(c, scheduler.GateEvent{Kind: scheduler.GateQuiet}, now)
			}
		}
		g.step(c, scheduler.GateEvent{Kind: scheduler.GateTick}, now)
	case *message.Rang:
		if g.state.State != scheduler.GateAwake {
			var burst, look bool
			if g.policy, burst, look = g.policy.Rang(now); burst {
				g.step(c, scheduler.GateEvent{Kind: scheduler.GateBusy}, now)
			} else if look {
				g.readContention(c)
			}
		}
	case contended:
		var burst bool
		g.reading = false
		if g.policy, burst = g.policy.Contended(bool(m)); burst {
			g.step(c, scheduler.GateEvent{Kind: scheduler.GateBusy}, now)
		}
	case message.Took:
		var sooner bool
		if g.policy, sooner = g.policy.Took(int(m)); sooner && g.state.State != scheduler.GateAsleep {
			g.arm(now)
		}
	case *message.Full:
		var long bool
		if g.policy, long = g.policy.Full(now); long {
			g.step(c, scheduler.GateEvent{Kind: scheduler.GateBusy}, now)
		}
	case *gateShut:
		g.said = ""
		g.step(c, scheduler.GateEvent{Kind: scheduler.GateShut, Ask: m.ask}, now)
	case *gateOver:
		g.over(c, m, now)
	case *actor.Stopping:
		g.timer.Stop()
		g.let()
	}
}

// over: an ask has ended, and with it what it had.
func (g *gate) over(c actor.Context, m *gateOver, now time.Time) {
	if m.ask != g.state.Ask || g.state.State == scheduler.GateAwake {
		return // it was let go of meanwhile
	}
	if m.err != nil {
		g.policy = g.policy.Refused(now)
		if g.said.News(m.err) {
			g.Log.Warn("gate: cannot make producers ring; looking at the queue without rings", "error", m.err)
		}
	}
	how := scheduler.GateEnded
	if m.err == nil { // its time is over, and nothing else
		if how = scheduler.GateAgain; g.state.State == scheduler.GateAsleep {
			g.policy = g.policy.Again(now)
		}
	}
	g.step(c, scheduler.GateEvent{Kind: how, Ask: m.ask}, now)
}

func (g *gate) step(c actor.Context, ev scheduler.GateEvent, now time.Time) {
	before := g.state.State
	var effects []scheduler.GateEffect
	g.state, effects = g.state.Step(ev)
	g.Show.Store(int32(g.state.State))
	if g.state.State != before && g.state.State == scheduler.GateAwake {
		g.policy = g.policy.Woke(now)
	}
	for _, e := range effects {
		switch e {
		case scheduler.GateScan:
			g.Tell(message.RoleDispatcher, scanNow)
			g.Rows.Scan()
		case scheduler.GateArm:
			g.arm(now)
		case scheduler.GateAskFor:
			g.ask(c)
		case scheduler.GateLetGo:
			g.let()
		}
	}
}

func (g *gate) arm(now time.Time) {
	var pause time.Duration
	g.policy, pause = g.policy.Pause(g.state.State, now)
	g.timer.Reset(pause)
}

func (g *gate) ask(c actor.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	g.let = cancel
	h, self, ask := g.GatePorts, c.Self(), g.state.Ask
	go func() {
		err := h.Gate.Keep(ctx, func() { h.Send(self, &gateShut{ask}) })
		if ctx.Err() == nil { // after letting go, the result is not wanted
			h.Send(self, &gateOver{ask, err})
		}
	}()
}

func (g *gate) readContention(c actor.Context) {
	if g.reading {
		return
	}
	g.reading = true
	h, self := g.GatePorts, c.Self()
	go func() {
		is, err := h.Gate.Contended(context.Background()) // bounded by the session
		h.Send(self, contended(err == nil && is))
	}()
}
