package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// A host that is not this machine is given work only while it can be reached.
// When a line to it breaks it is tried again, by itself and with growing
// pauses, whether there is work for it or not.

// reached: an attempt to reach the host has ended. To itself.
type reached struct{ err error }

// hostState: what others are to see of a host. From hosts to membership.
type hostState struct {
	Host  scheduler.HostName
	State scheduler.HostState
	Words string
}

// tryReach begins an attempt when it is time for one.
func (s *host) tryReach(c actor.Context, now time.Time) {
	if s.closed || !s.reach.Due(now) {
		return
	}
	s.reach = s.reach.Try()
	ctx, cancel := context.WithCancel(context.Background())
	s.endReach = cancel
	h, name, self := s.h, s.spec.Name, c.Self()
	h.yards[name].enter()
	go func() {
		defer h.yards[name].leave()
		defer cancel()
		h.system.Root.Send(self, &reached{h.Launcher.Reach(ctx, name)})
	}()
}

func (s *host) onReached(m *reached, now time.Time) {
	if s.closed {
		return // it was given up, which tells nothing
	}
	if m.err == nil {
		s.reach = s.reach.Reached(now)
		s.h.Log.Info("host is up", "host", s.spec.Name)
	} else {
		s.setDown(s.reach.Failed(m.err.Error(), now, luck()), now)
	}
	s.showReach()
	s.resync(now)
}

// onCut: a child's line broke.
func (s *host) onCut(words string, now time.Time) {
	if !s.spec.Far || s.reach.Down {
		return
	}
	s.setDown(s.reach.Lost(words, now, luck()), now)
	s.showReach()
	s.resync(now)
}

func (s *host) setDown(r scheduler.Reach, now time.Time) {
	if r.Words != s.reach.Words {
		s.h.Log.Warn("host is down", "host", s.spec.Name, "why", r.Words, "again_in", r.NextAt.Sub(now))
	}
	s.reach = r
}

func (s *host) showReach() {
	if !s.spec.Far {
		return // it never changes
	}
	s.h.tell(roleMembership, &hostState{s.spec.Name, s.reach.State(), s.reach.Words})
}

// whyDown is what is said to jobs that came here and cannot run.
func (s *host) whyDown() string { return "host_down: " + string(s.spec.Name) + ": " + s.reach.Words }

// stopReach ends an attempt that is under way.
func (s *host) stopReach() {
	if s.endReach != nil {
		s.endReach()
	}
}
