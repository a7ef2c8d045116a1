package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler/intake"
)

// supervisor answers for all actors. It does no work of its own.
type supervisor struct {
	parent
}

func newSupervisor(inst *instance) *supervisor { return &supervisor{newParent(inst)} }

func (s *supervisor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		// Not inline: what agents say comes under a lock of theirs, for which their next lines wait.
		s.start(c, roleLedger, func() actor.Actor { return newLedger(s.inst.forLedger()) })
		s.start(c, roleHosts, func() actor.Actor { return newHosts(s.inst) })
		s.start(c, roleMSQs, func() actor.Actor { return newMSQs(s.inst) })
		s.start(c, roleMaintenance, func() actor.Actor { return newMaintenance(s.inst.forMaintenance()) }, inline)
		s.start(c, roleDispatcher, func() actor.Actor { return newDispatcher(s.inst) }, inline)
		s.start(c, roleMembership, func() actor.Actor { return newMembership(s.inst.forMembership()) })
		s.start(c, roleLocks, func() actor.Actor { return newLocks(s.inst.forLocks()) })
		s.start(c, roleAttachments, func() actor.Actor { return newAttachments(s.inst.forAttachments()) })
		s.start(c, roleSensors, func() actor.Actor { return newSensors(s.inst.forSensors()) })
		s.start(c, roleCourier, func() actor.Actor { return newCourier(s.inst.forCourier()) })
		s.start(c, roleWatches, func() actor.Actor { return newWatches(s.inst.forWatches()) })
		s.start(c, roleKeeper, func() actor.Actor { return newKeeper(s.inst.forKeeper()) })
		s.start(c, roleGate, func() actor.Actor { return newGate(s.inst.forGate()) }, inline)
		s.start(c, roleBell, func() actor.Actor { return newBell(s.inst.forBell()) })
	case *actor.Stopping:
		s.leaving = true
	case *actor.Terminated:
		if role := s.terminated(c, m.Who); role != "" {
			if role == roleHosts {
				for _, spec := range s.inst.setup().Hosts {
					s.inst.tell(roleDispatcher, &credits{Host: spec.Name})
				}
			}
			// What was on its way to it is lost: find out what that was.
			s.inst.tell(roleDispatcher, &audit{})
		}
	case *respawn:
		s.spawn(c, m.role)
		if m.role == roleSensors || m.role == roleCourier || m.role == roleWatches { // a round says when to look
			s.inst.tell(roleMaintenance, &dueNow{})
		}
		if m.role == roleMaintenance { // what it was to read while it was down
			s.inst.tell(roleDispatcher, &intake.BacklogRead{Failed: true})
		}
		s.inst.tell(roleDispatcher, &audit{})
	}
}
