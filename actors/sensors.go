package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// How soon sensors are looked at again that are due and came to nothing (somebody
// else has them in hand), or could not be looked at at all: that grows.
const (
	sensorsSoon = 50 * time.Millisecond
	sensorsLate = 2 * time.Second
)

// sensors starts workflows when their time comes. There is no round of its own:
// when somebody has to look next comes with what operators want
// (scheduler.ControlState), so that where there are no workflows nothing is asked
// and nothing ticks; between looks there is one timer, for the next slot.
type sensors struct {
	sensorsPorts
	// owned by Receive
	busy     bool // a look is under way
	rerun    bool // and another is wanted after it
	stopping bool
	pause    time.Duration
	timer    *time.Timer
	lost     string // why the last look failed, as it was said
	ctx      context.Context
	cancel   context.CancelFunc
}

func newSensors(h sensorsPorts) *sensors { return &sensors{sensorsPorts: h, pause: sensorsSoon} }

// Messages of sensors to itself.
type (
	sensorTick   struct{}
	sensorsFired struct {
		fired int
		next  time.Duration
		err   error
	}
)

func (s *sensors) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.ctx, s.cancel = context.WithCancel(context.Background())
	case *scheduler.ControlState:
		s.onControl(c, m)
	case *sensorTick:
		s.timer = nil
		s.look(c)
	case *sensorsFired:
		s.onFired(c, m)
	case *finish:
		s.stopping = true
		s.disarm()
	case *actor.Stopping:
		s.cancel()
		s.disarm()
	}
}

func (s *sensors) onControl(c actor.Context, m *scheduler.ControlState) {
	switch {
	case !m.Sensors:
		if !s.busy {
			s.disarm()
		}
	case s.pause > sensorsSoon && s.timer != nil: // what comes to nothing is paced, whoever asks for it
	case m.SensorIn <= 0:
		s.look(c)
	case !s.busy: // else it finds out itself
		s.arm(c, m.SensorIn)
	}
}

func (s *sensors) arm(c actor.Context, in time.Duration) {
	s.disarm()
	if !s.stopping {
		s.timer = s.later(c.Self(), in, &sensorTick{})
	}
}

func (s *sensors) disarm() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

func (s *sensors) look(c actor.Context) {
	switch {
	case s.clock == nil || s.stopping:
		return
	case s.busy:
		s.rerun = true
		return
	}
	s.disarm()
	s.busy, s.rerun = true, false
	h, ctx, self := s.sensorsPorts, s.ctx, c.Self()
	go func() {
		m := &sensorsFired{}
		m.fired, m.next, m.err = h.clock.Turn(ctx, h.id())
		h.send(self, m)
	}()
}

func (s *sensors) onFired(c actor.Context, m *sensorsFired) {
	s.busy = false
	if m.fired > 0 { // before an error too
		s.ring(&rang{})
		s.pause = sensorsSoon
	}
	switch {
	case m.err != nil:
		if s.ctx.Err() == nil && m.err.Error() != s.lost {
			s.lost = m.err.Error()
			s.log.Warn("cannot look at the sensors of workflows; it is tried again", "error", m.err)
		}
	case s.rerun && m.fired > 0:
		s.lost = ""
		s.look(c)
		return
	default:
		s.lost = ""
	}
	switch {
	case m.err != nil, m.next >= 0 && m.next < s.pause && m.fired == 0, s.rerun:
		s.arm(c, max(m.next, s.pause))
		s.pause = min(2*s.pause, sensorsLate)
	case m.next >= 0:
		s.pause = sensorsSoon
		s.arm(c, min(m.next, time.Hour))
	}
}
