package host

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// How a host ends work that is not done.

func (s *host) onCancel(c actor.Context, m *message.CancelJob) {
	s.forward(c, m)
	s.dropPending(func(l scheduler.Line) bool { return l.Claim == m.Claim }, "")
}

func (s *host) onDrop(c actor.Context, m *message.Drop) {
	s.forward(c, m)
	s.dropPending(func(l scheduler.Line) bool { return slices.Contains(m.Claims, l.Claim) }, "")
}

// onFenced kills what runs: other instances may claim those jobs now.
func (s *host) onFenced(c actor.Context) {
	for _, child := range s.children {
		if child.state == scheduler.Busy {
			c.Send(child.pid, &kill{scheduler.StopFenced})
			child.leaving = true
		}
	}
	s.dropPending(func(scheduler.Line) bool { return true }, "")
}

// onLeave ends the children: those at work only when the order is to kill.
func (s *host) onLeave(c actor.Context, m *message.Leave) {
	s.leaving = true
	s.stopReach()
	s.dropPending(func(scheduler.Line) bool { return true }, "")
	for _, child := range s.children {
		if !child.state.Live() {
			continue
		}
		if m.All || child.state == scheduler.Busy {
			c.Send(child.pid, &kill{scheduler.StopShutdown})
		} else if !child.leaving {
			c.Send(child.pid, &dismiss{scheduler.StopShutdown})
		}
		child.leaving = true
	}
	if m.All {
		return // the first leave waits already
	}
	parent, root, empty := s.parent, s.inst.System.Root, s.inst.Processes[s.spec.Name].WhenEmpty()
	go func() { <-empty; root.Send(parent, &message.HostLeft{}) }()
}

// stopping gives back pending lines: no child works on them. The children see to theirs. While they stop, messages
// still come; none may bring up another child, or the host would never end.
func (s *host) stopping() {
	s.leaving = true
	s.stopReach()
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.dropPending(func(scheduler.Line) bool { return true }, "")
}

// stopped: its children have stopped, too.
func (s *host) stopped() {
	for _, child := range s.children {
		child.pool.quota.Release(child.reservation)
	}
}
