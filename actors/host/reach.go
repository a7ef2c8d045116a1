package host

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// A host that is not this machine is given work only while it can be reached.
// When a line to it breaks it is tried again, by itself and with growing
// pauses, whether there is work for it or not.

// reached: an attempt to reach the host has ended. To itself.
type reached struct{ err error }

// tryReach begins an attempt when it is time for one.
func (s *host) tryReach(c actor.Context, now time.Time) {
	if s.leaving || !s.reach.Due(now) {
		return
	}
	s.reach = s.reach.Try()
	ctx, cancel := context.WithCancel(context.Background())
	s.endReach = cancel
	inst, name, self := s.inst, s.spec.Name, c.Self()
	inst.Processes[name].Enter()
	go func() {
		defer inst.Processes[name].Leave()
		defer cancel()
		inst.Send(self, &reached{inst.Launcher.Reach(ctx, name)})
	}()
}

func (s *host) onReached(m *reached, now time.Time) {
	if s.leaving {
		return // it was given up, which tells nothing
	}
	if m.err == nil {
		s.reach = s.reach.Reached(now)
		s.inst.Log.Info("host is up", "host", s.spec.Name)
	} else {
		s.setDown(s.reach.Failed(m.err.Error(), now, rand.Float64()), now)
	}
	s.showReachability()
	s.resync(now)
}

// onCut: a child's line broke.
func (s *host) onCut(message string, now time.Time) {
	if !s.spec.Far || s.reach.Down {
		return
	}
	s.setDown(s.reach.Lost(message, now, rand.Float64()), now)
	s.showReachability()
	s.resync(now)
}

func (s *host) setDown(r scheduler.Reachability, now time.Time) {
	if r.Message != s.reach.Message {
		s.inst.Log.Warn("host is down", "host", s.spec.Name, "why", r.Message, "again_in", r.NextAt.Sub(now))
	}
	s.reach = r
}

func (s *host) showReachability() {
	if !s.spec.Far {
		return // it never changes
	}
	s.inst.Tell(message.RoleMembership, &message.HostState{Host: s.spec.Name, State: s.reach.State(),
		Message: s.reach.Message})
}

// whyDown is what is said to jobs that came here and cannot run.
func (s *host) whyDown() string { return "host_down: " + string(s.spec.Name) + ": " + s.reach.Message }

// stopReach ends an attempt that is under way.
func (s *host) stopReach() {
	if s.endReach != nil {
		s.endReach()
	}
}
