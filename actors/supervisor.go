package actors

import (
	"github.com/asynkron/protoactor-go/actor"
)

// supervisor answers for everybody. It does no work of its own.
type supervisor struct {
	parent
}

func newSupervisor(h *house) *supervisor { return &supervisor{newParent(h)} }

func (s *supervisor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.start(c, roleLedger, func() actor.Actor { return newLedger(s.h) })
		s.start(c, roleHosts, func() actor.Actor { return newHosts(s.h) })
		s.start(c, roleMSQs, func() actor.Actor { return newMSQs(s.h) })
		s.start(c, roleDispatcher, func() actor.Actor { return newDispatcher(s.h) }, inline)
		s.start(c, roleMembership, func() actor.Actor { return newMembership(s.h) })
		s.start(c, roleAttachments, func() actor.Actor { return newAttachments(s.h) })
		s.start(c, roleGate, func() actor.Actor { return newGate(s.h) }, inline)
		s.start(c, roleBell, func() actor.Actor { return newBell(s.h) })
	case *actor.Stopping:
		s.leaving = true
	case *actor.Terminated:
		if role := s.terminated(c, m.Who); role != "" {
			if role == roleHosts {
				for _, spec := range s.h.Hosts {
					s.h.tell(roleDispatcher, &credits{Host: spec.Name})
				}
			}
			// What was on its way to it is lost: find out what that was.
			s.h.tell(roleDispatcher, &audit{})
		}
	case *respawn:
		s.spawn(c, m.role)
		s.h.tell(roleDispatcher, &audit{})
	}
}
