package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// paced looks at the database when its time comes, one look at a time. There is no round of its own: the time comes
// with what operators want (scheduler.ControlState). So if there is nothing to look for, nothing is asked and
// nothing ticks. Between looks there is one timer; scheduler.Pacing says for when. It is an actor, or a part of
// one.
type paced struct {
	*tree.Peers
	log *slog.Logger
	// due is the delay until the next check; none: no check needed.
	due func(*scheduler.ControlState) (in time.Duration, some bool)
	// begin gives the look that is to be made now, beside the actor; nil: none. What it began calls again when it has
	// ended, for another look.
	begin func(again func()) func(context.Context) *looked
	fails string // what is said of a look that failed
	// owned by Receive
	pacing   scheduler.Pacing
	busy     bool // a look is under way
	rerun    bool // and another is wanted after it
	stopping bool
	timer    *time.Timer
	said     tree.Complaint
	ctx      context.Context
	cancel   context.CancelFunc
}

// Messages of paced to itself.
type (
	lookNow struct{}
	looked  struct {
		did  int
		next time.Duration // in how long the next look is wanted; negative: when due says so
		err  error
		then func() // what Receive does with it; nil: nothing
	}
)

func (p *paced) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.ctx, p.cancel = context.WithCancel(context.Background())
	case *scheduler.ControlState:
		p.onControl(c, m)
	case *lookNow:
		p.timer = nil
		p.look(c)
	case *looked:
		p.onLooked(c, m)
	case *message.Finish:
		p.stopping = true
		p.disarm()
	case *actor.Stopping:
		p.cancel()
		p.disarm()
	}
}

func (p *paced) onControl(c actor.Context, m *scheduler.ControlState) {
	switch in, some := p.due(m); {
	case !some:
		if !p.busy {
			p.disarm()
		}
	case p.pacing.Slowed() && p.timer != nil: // a request does not shorten the pause
	case in <= 0:
		p.look(c)
	case !p.busy: // else it finds out itself
		p.arm(c, min(in, time.Hour))
	}
}

func (p *paced) arm(c actor.Context, in time.Duration) {
	p.disarm()
	if !p.stopping {
		p.timer = p.Later(c.Self(), in, &lookNow{})
	}
}

func (p *paced) disarm() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *paced) look(c actor.Context) {
	if p.busy {
		p.rerun = true
		return
	}
	p.disarm()
	if p.stopping {
		return
	}
	peers, ctx, self := p.Peers, p.ctx, c.Self()
	look := p.begin(func() { peers.Send(self, &lookNow{}) })
	if look == nil {
		return
	}
	p.busy, p.rerun = true, false
	go func() { peers.Send(self, look(ctx)) }()
}

func (p *paced) onLooked(c actor.Context, m *looked) {
	p.busy = false
	if p.said.News(m.err) && p.ctx.Err() == nil {
		p.log.Warn(p.fails+"; it is tried again", "error", m.err)
	}
	if m.then != nil {
		m.then()
	}
	var in time.Duration
	p.pacing, in = p.pacing.After(scheduler.Look{Did: m.did, Next: m.next, Failed: m.err != nil, Asked: p.rerun})
	switch {
	case in == 0:
		p.look(c)
	case in > 0:
		p.arm(c, in)
	}
}

// How soon what is due and came to nothing is looked at again.
var (
	sensorsPacing = scheduler.Pacing{Soon: 50 * time.Millisecond, Late: 2 * time.Second}
	courierPacing = scheduler.Pacing{Soon: 100 * time.Millisecond, Late: 5 * time.Second}
)

// NewSensors starts workflows when their time comes.
func NewSensors(h SensorsPorts) *paced {
	p := &paced{Peers: h.Peers, log: h.Log, pacing: sensorsPacing, fails: "cannot look at the sensors of workflows"}
	p.due = func(m *scheduler.ControlState) (time.Duration, bool) { return m.SensorIn, m.Sensors }
	p.begin = func(func()) func(context.Context) *looked {
		if h.Clock == nil || h.ID() == 0 {
			return nil
		}
		return func(ctx context.Context) *looked {
			m := &looked{}
			if m.did, m.next, m.err = h.Clock.Turn(ctx, h.ID()); m.did > 0 { // before an error too
				m.then = func() { h.Ring(&message.Rang{}) }
			}
			return m
		}
	}
	return p
}

// NewCourier has messages sent that tell how runs have ended.
func NewCourier(h CourierPorts) *paced {
	p := &paced{Peers: h.Peers, log: h.Log, pacing: courierPacing, fails: "cannot send what is to be told of runs"}
	p.due = func(m *scheduler.ControlState) (time.Duration, bool) { return m.NoticeIn, m.Notices }
	p.begin = func(again func()) func(context.Context) *looked {
		if h.Sender == nil || h.ID() == 0 {
			return nil
		}
		return func(ctx context.Context) *looked {
			m := &looked{}
			m.did, m.next, m.err = h.Sender.Turn(ctx, h.ID(), again)
			return m
		}
	}
	return p
}
