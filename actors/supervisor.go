package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/dispatch"
	"bellhop/actors/host"
	"bellhop/actors/ledger"
	"bellhop/actors/member"
	"bellhop/actors/message"
	"bellhop/actors/msq"
	"bellhop/actors/tree"
	"bellhop/actors/upkeep"
	"bellhop/actors/wake"
	"bellhop/scheduler/intake"
)

// supervisor answers for all actors. It does no work of its own.
type supervisor struct {
	tree.Parent
	inst *instance
}

func newSupervisor(inst *instance) *supervisor {
	return &supervisor{tree.NewParent(inst.Peers, inst.Log), inst}
}

func (s *supervisor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		// Not inline: what agents say comes under a lock of theirs, for which their next lines wait.
		s.Start(c, message.RoleLedger, func() actor.Actor { return ledger.New(s.inst.forLedger()) })
		s.Start(c, message.RoleHosts, func() actor.Actor { return host.NewHosts(s.inst.forHosts()) })
		s.Start(c, message.RoleMSQs, func() actor.Actor { return msq.NewMSQs(s.inst.forMSQ()) })
		s.Start(c, message.RoleMaintenance, func() actor.Actor { return upkeep.NewMaintenance(s.inst.forMaintenance()) },
			tree.Inline)
		s.Start(c, message.RoleDispatcher, func() actor.Actor { return dispatch.New(s.inst.forDispatcher()) }, tree.Inline)
		s.Start(c, message.RoleMembership, func() actor.Actor { return member.New(s.inst.forMembership()) })
		s.Start(c, message.RoleLocks, func() actor.Actor { return upkeep.NewLocks(s.inst.forLocks()) })
		s.Start(c, message.RoleAttachments, func() actor.Actor { return upkeep.NewAttachments(s.inst.forAttachments()) })
		s.Start(c, message.RoleSensors, func() actor.Actor { return upkeep.NewSensors(s.inst.forSensors()) })
		s.Start(c, message.RoleCourier, func() actor.Actor { return upkeep.NewCourier(s.inst.forCourier()) })
		s.Start(c, message.RoleWatches, func() actor.Actor { return upkeep.NewWatches(s.inst.forWatches()) })
		s.Start(c, message.RoleKeeper, func() actor.Actor { return upkeep.NewKeeper(s.inst.forKeeper()) })
		s.Start(c, message.RoleGate, func() actor.Actor { return wake.NewGate(s.inst.forGate()) }, tree.Inline)
		s.Start(c, message.RoleBell, func() actor.Actor { return wake.NewBell(s.inst.forBell()) })
	case *actor.Stopping:
		s.Leave()
	case *actor.Terminated:
		if role := s.Terminated(c, m.Who); role != "" {
			if role == message.RoleHosts {
				for _, spec := range s.inst.setup().Hosts {
					s.inst.Tell(message.RoleDispatcher, &message.Credits{Host: spec.Name})
				}
			}
			// What was on its way to it is lost: find out what that was.
			s.inst.Tell(message.RoleDispatcher, &message.Audit{})
		}
	case *tree.Respawn:
		s.Spawn(c, m.Role)
		// a round says when to look
		if m.Role == message.RoleSensors || m.Role == message.RoleCourier || m.Role == message.RoleWatches {
			s.inst.Tell(message.RoleMaintenance, &message.DueNow{})
		}
		if m.Role == message.RoleMaintenance { // what it was to read while it was down
			s.inst.Tell(message.RoleDispatcher, &intake.BacklogRead{Failed: true})
		}
		s.inst.Tell(message.RoleDispatcher, &message.Audit{})
	}
}
