package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// hosts answers for one actor per host and passes on what concerns all of them.
type hosts struct {
	parent
	waiting int // hosts that have not left yet
	done    chan<- string
}

func newHosts(inst *instance) *hosts { return &hosts{parent: newParent(inst)} }

func (s *hosts) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		for i, spec := range s.inst.setup().Hosts {
			if spec.Engine != nil {
				s.start(c, roleHost(spec.Name), func() actor.Actor { return newEngineHost(s.inst, spec) })
				continue
			}
			s.start(c, roleHost(spec.Name), func() actor.Actor { return newHost(s.inst, s.inst.setup().Hosts[i]) }, inline)
		}
		s.inst.tell(roleDispatcher, &audit{}) // one that began before these were there would wait for them in vain
	case *leased, *fenced, *describe, *divided, *msqEnded, *drop, *cancelJob, *finish, *reshaped:
		for _, o := range s.children {
			if o.pid != nil {
				c.Send(o.pid, m)
			}
		}
	case *leave:
		s.onLeave(c, m)
	case *hostLeft:
		s.waiting--
		s.gone()
	case *actor.Stopping:
		s.leaving = true
	case *actor.Terminated:
		if role := s.terminated(c, m.Who); role != "" {
			for _, spec := range s.inst.setup().Hosts {
				if roleHost(spec.Name) == role {
					// it takes nothing until it is back
					s.inst.tell(roleDispatcher, &credits{Host: spec.Name, Spawn: map[scheduler.TypeName]int{}})
				}
			}
			s.inst.tell(roleDispatcher, &audit{})
		}
	case *respawn:
		s.spawn(c, m.role)
		s.inst.tell(roleDispatcher, &audit{})
	}
}

// hostLeft: a host has no child any more. From a host that was asked to leave.
type hostLeft struct{}

func (s *hosts) onLeave(c actor.Context, m *leave) {
	if !m.all {
		s.done, s.waiting = m.done, 0
	}
	for _, o := range s.children {
		if o.pid != nil {
			if !m.all {
				s.waiting++
			}
			c.Send(o.pid, &leave{all: m.all})
		}
	}
	s.gone()
}

func (s *hosts) gone() {
	if s.waiting <= 0 && s.done != nil {
		s.done <- roleHosts
		s.done = nil
	}
}
