// Package host has the hosts and their children: slots, credits and processes.
package host

import (
	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// hosts answers for one actor per host and passes on what concerns all of them.
type hosts struct {
	tree.Parent
	inst    *Ports
	waiting int // hosts that have not left yet
	done    chan<- string
}

func NewHosts(inst *Ports) *hosts {
	return &hosts{Parent: tree.NewParent(inst.Peers, inst.Log), inst: inst}
}

func (s *hosts) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		for i, spec := range s.inst.setup().Hosts {
			if spec.Engine != nil {
				s.Start(c, message.RoleHost(spec.Name), func() actor.Actor { return s.inst.Engine(spec) })
				continue
			}
			s.Start(c, message.RoleHost(spec.Name), func() actor.Actor { return New(s.inst, s.inst.setup().Hosts[i]) },
				tree.Inline)
		}
		// one that began before these were there would wait for them in vain
		s.inst.Tell(message.RoleDispatcher, &message.Audit{})
	case *message.Leased, *message.Fenced, *message.Describe, *message.Divided, *message.MSQEnded, *message.Drop,
		*message.CancelJob, *message.Finish, *message.Reshaped:
		s.Forward(c, m)
	case *message.Leave:
		s.onLeave(c, m)
	case *message.HostLeft:
		s.waiting--
		s.gone()
	case *actor.Stopping:
		s.Leave()
	case *actor.Terminated:
		if role := s.Terminated(c, m.Who); role != "" {
			for _, spec := range s.inst.setup().Hosts {
				if message.RoleHost(spec.Name) == role {
					// it takes nothing until it is back
					s.inst.Tell(message.RoleDispatcher, &message.Credits{Host: spec.Name, Spawn: map[scheduler.TypeName]int{}})
				}
			}
			s.inst.Tell(message.RoleDispatcher, &message.Audit{})
		}
	case *tree.Respawn:
		s.Spawn(c, m.Role)
		s.inst.Tell(message.RoleDispatcher, &message.Audit{})
	}
}

func (s *hosts) onLeave(c actor.Context, m *message.Leave) {
	if !m.All {
		s.done = m.Done
	}
	if n := s.Forward(c, &message.Leave{All: m.All}); !m.All {
		s.waiting = n
	}
	s.gone()
}

func (s *hosts) gone() {
	if s.waiting <= 0 && s.done != nil {
		s.done <- message.RoleHosts
		s.done = nil
	}
}
