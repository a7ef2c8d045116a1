package host

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// reshape takes the setup: which types there are, and what is to be replaced.
func (s *host) reshape(c actor.Context, m *message.Reshaped, now time.Time) {
	setup := s.inst.setup()
	if i := slices.IndexFunc(setup.Hosts, func(h port.HostSpec) bool { return h.Name == s.spec.Name }); i >= 0 {
		s.spec = setup.Hosts[i]
		s.names, s.reserves = s.spec.Has.Names(), nil
	}
	s.types = map[scheduler.TypeName]*pool{}
	for _, a := range s.served() {
		i := slices.IndexFunc(s.pools, func(p *pool) bool { return p.Name == a.Name })
		if i < 0 {
			s.addPool(a)
			continue
		}
		p := s.pools[i]
		p.AgentType, p.gone, s.types[a.Name] = a, false, p
		if slices.Contains(m.Renewed, a.Name) { // it may fail no more: what was said of its deaths is of the one before
			p.respawn, p.trouble = scheduler.Respawn{Up: a.Exec}, scheduler.Account{}
			s.trouble(p, scheduler.Account{})
			p.stale()
		}
	}
	for _, p := range s.pools {
		if s.types[p.Name] == nil {
			p.gone = true
			p.stale()
			s.dropFrom(p, func(scheduler.Line) bool { return true }, "")
		}
		for _, child := range p.children {
			c.Send(child.pid, &reruled{p.AgentType})
		}
	}
	s.sortPools()
	s.resync(now)
}

// reruled: the child's type has other rules. From its host.
type reruled struct{ typ port.AgentType }

func (k *child) rerule(typ port.AgentType) {
	k.typ, k.retry, k.fsm.Rules = typ, k.inst.Retry(typ.Name), rulesOf(k.inst, typ)
}

func rulesOf(inst *Ports, typ port.AgentType) scheduler.Rules {
	setup := inst.setup()
	return scheduler.Rules{
		StartTimeout: typ.StartTimeout,
		Idle:         setup.Idle,
		KillAfter:    setup.KillAfter,
		Timeout:      typ.Timeout,
	}
}

// stale marks the children that live: they take nothing more, and go.
func (pool *pool) stale() {
	for _, child := range pool.children {
		child.stale = child.state.Live()
	}
}

// replace lets those go that are of the configuration before and have nothing to
// do, and forgets types of which nothing is left.
func (s *host) replace(c actor.Context) {
	for _, pool := range s.pools {
		for _, child := range pool.children {
			if child.stale && !child.leaving && child.state == scheduler.ChildReady && child.sent == child.got {
				child.leaving = true
				c.Send(child.pid, &dismiss{scheduler.StopRoom})
			}
		}
	}
	s.pools = slices.DeleteFunc(s.pools, func(pool *pool) bool {
		if live, _ := pool.live(); !pool.gone || live > 0 {
			return false
		}
		for name, child := range s.children {
			if child.pool == pool {
				delete(s.children, name)
				s.inst.Forget(message.RoleChild(s.spec.Name, name), child.pid)
				c.Stop(child.pid)
				over := &scheduler.ChildReport{Host: s.spec.Name, Name: name, Type: pool.Name, State: scheduler.Free}
				s.inst.Tell(message.RoleMembership, over)
			}
		}
		return true
	})
}
