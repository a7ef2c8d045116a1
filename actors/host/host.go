package host

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// host owns the slots of one place: it asks for work by giving out credits,
// places what it is dealt on children, and makes children come and go.
type host struct {
	inst     *Ports
	spec     port.HostSpec
	types    map[scheduler.TypeName]*pool
	pools    []*pool // the same, by name: every message goes through them
	children map[scheduler.ChildName]*childHandle
	// Credits that are out: what we asked for and have not been dealt yet. A
	// new epoch forgets them.
	epoch         uint64
	grantedRoom   int
	toldFull      bool                             // whether the dispatcher knows that children hold all slots
	preemptingFor []scheduler.TypeName             // types for which enough children take no more lines
	waits         map[scheduler.TypeName]time.Time // since when types wait of which there is no child
	sharing
	resources
	asleep   bool             // before the last incarnation's processes are dead
	leaving  bool             // leaving: nothing is taken any more
	seats    []scheduler.Seat // of one look, kept for the next
	reach    scheduler.Reachability
	endReach func() // ends the attempt to reach it
	parent   *actor.PID
	alarm    *time.Timer
	alarmAt  time.Time
}

func New(inst *Ports, spec port.HostSpec) *host {
	s := &host{
		inst:     inst,
		spec:     spec,
		types:    map[scheduler.TypeName]*pool{},
		children: map[scheduler.ChildName]*childHandle{},
		epoch:    uint64(time.Now().UnixNano()),
	}
	for _, a := range s.served() {
		s.addPool(a)
	}
	s.sortPools()
	s.names = spec.Has.Names()
	if spec.Far {
		s.reach = scheduler.Untried()
	}
	return s
}

// served are the types that this host takes.
func (s *host) served() (list []port.AgentType) {
	for _, a := range s.inst.setup().Agents {
		if s.spec.Refuses(a.Name, a.Local, a.Takes) == "" {
			list = append(list, a)
		}
	}
	return list
}

func (s *host) addPool(a port.AgentType) {
	s.types[a.Name] = &pool{
		AgentType: a,
		quota:     s.inst.Quotas.Of(a.Name),
		told:      untold,
		respawn:   scheduler.Respawn{Up: a.Exec},
	}
	s.pools = append(s.pools, s.types[a.Name])
}

func (s *host) sortPools() {
	slices.SortFunc(s.pools, func(a, b *pool) int { return cmp.Compare(a.Name, b.Name) })
}

// awake: the processes of the last incarnation are dead. To itself.
type awake struct{}

// hostTick: something that time decides may have changed. To itself.
type hostTick struct{}

func (s *host) Receive(c actor.Context) {
	now := time.Now()
	switch m := c.Message().(type) {
	case *actor.Started:
		s.onStarted(c)
		return
	case *awake:
		s.onAwake(c, now)
	case *actor.Stopping:
		s.stopping()
		return
	case *actor.Stopped: // and its children are
		s.stopped()
		return
	case *actor.Terminated:
		c.Send(c.Self(), &tree.Gone{Who: m.Who})
		return
	case *tree.Gone:
		s.onChildGone(m.Who, now)
	case *message.Deal:
		s.onDeal(m, now)
	case message.Deals:
		for _, one := range m {
			s.onDeal(one, now)
		}
	case *news:
		s.onNews(m, now)
	case *message.MSQEnded:
		s.resync(now)
	case *reached:
		s.onReached(m, now)
	case *message.WaitingTypes:
		s.onWaiting(m, now)
	case *hostTick, *message.Divided:
	case *message.Report:
		s.onReport(c, m, now)
		return
	case *message.Describe:
		s.onDescribe(c, m, now)
		return
	case *message.Leased:
		s.forward(c, m)
		return
	case *message.CancelJob:
		s.onCancel(c, m)
	case *message.Drop:
		s.onDrop(c, m)
	case *message.Fenced:
		s.onFenced(c)
	case *message.Reshaped:
		s.reshape(c, m, now)
	case *message.Leave:
		s.onLeave(c, m)
	default:
		return
	}
	s.next(c, now)
}

// next does what can be done now.
func (s *host) next(c actor.Context, now time.Time) {
	s.replace(c)
	s.tryReach(c, now)
	s.place(c, now)
	s.ask(now)
	s.arm(c, now)
}

// onStarted puts the host to sleep until the processes of its last incarnation are dead.
func (s *host) onStarted(c actor.Context) {
	s.parent = c.Parent()
	s.asleep = true
	self, root, empty := c.Self(), s.inst.System.Root, s.inst.Processes[s.spec.Name].WhenEmpty()
	go func() { <-empty; root.Send(self, &awake{}) }()
}

func (s *host) onAwake(c actor.Context, now time.Time) {
	s.asleep = false
	s.showReachability()
	s.inst.Tell(message.RoleMSQs, &message.HostRestarted{Host: s.spec.Name, At: c.Self()})
	s.resync(now) // and then to what was dealt meanwhile
}

func (s *host) forward(c actor.Context, m any) {
	for _, child := range s.children {
		if child.pid != nil {
			c.Send(child.pid, m)
		}
	}
}

func (s *host) onDeal(m *message.Deal, now time.Time) {
	pool := s.types[m.Type]
	each := 1 // the slots of a child
	if pool != nil {
		each = pool.Takes.Slots()
	}
	for _, l := range m.Lines {
		if m.Epoch == s.epoch {
			if l.Assigned {
				s.grantedRoom = max(0, s.grantedRoom-each)
				if pool != nil {
					pool.told = untold // the dispatcher has counted it down
					s.given(pool)
				}
			} else if pool != nil {
				pool.granted = max(0, pool.granted-1)
			}
		}
		if pool == nil || s.leaving {
			s.inst.requeue(l, "")
			continue
		}
		pool.pending = append(pool.pending, pending{l, now})
	}
	if m.Recount {
		s.resyncSoon()
	}
}

func (s *host) onNews(m *news, now time.Time) {
	child := s.children[m.Name]
	if child == nil {
		return
	}
	was := child.state
	if was != m.State && (child.pool.Exec || was.Live() != m.State.Live()) {
		s.charge(now) // it holds a slot no more, or from now on
	}
	child.unacked = slices.Delete(child.unacked, 0, m.Acked-child.got)
	child.state, child.since, child.room, child.got, child.held = m.State, m.Since, m.Room, m.Acked, m.Held
	if len(m.Returned) > 0 {
		child.returns++
		child.pool.putBack(m.Returned, now)
	}
	if m.LineTime > 0 {
		child.pool.lineTime = m.LineTime
	}
	if m.Rose {
		child.pool.startTime = now.Sub(child.wanted)
		child.pool.shortage = child.pool.shortage.Grown()
		failed := child.pool.respawn.Starts > 0
		if child.pool.respawn = child.pool.respawn.SaidOK(); failed {
			s.trouble(child.pool, child.pool.respawn.Trouble(child.pool.trouble))
		}
	}
	if m.Healthy && child.pool.respawn.InARow > 0 {
		child.pool.respawn = child.pool.respawn.Healthy()
		s.trouble(child.pool, scheduler.Account{})
		s.inst.Tell(message.RoleMembership, &message.Death{Type: child.pool.Name, Host: s.spec.Name})
	}
	if m.Cut != "" {
		s.onCut(m.Cut, now)
	}
	if m.Died {
		s.onDeath(child.pool, m, now)
	}
	if m.Unguarded {
		child.pool.respawn.Guards, child.pool.trouble = child.pool.respawn.Guards.Died(now, rand.Float64()), m.Blame
	}
	if was == scheduler.Busy && child.pool.Exec && child.pool.granted > 0 && child.seat().Idle && s.shared() {
		s.resyncSoon() // it asked for a line behind its own; now its slot is free for any type
	}
	if was != m.State && !m.State.Live() {
		yielded := child.draining
		child.leaving, child.draining, child.stale, child.keep, child.kept = false, false, false, 0, kept{}
		if yielded { // no other has to make room now
			s.yield(now)
		}
		s.resync(now) // what it had room for is gone
	}
}

func (s *host) onDeath(pool *pool, m *news, now time.Time) {
	why := m.Blame
	if m.NotUp {
		pool.respawn = pool.respawn.NotUp(s.inst.setup().Respawn, now, rand.Float64())
	} else {
		pool.respawn = pool.respawn.Died(s.inst.setup().Respawn, now, rand.Float64())
	}
	pool.trouble = why
	if told := pool.respawn.Trouble(why); told != (scheduler.Account{}) {
		s.trouble(pool, told)
	}
	last := scheduler.Death{At: now, Deaths: pool.respawn.InARow, Why: why.Reason}
	s.inst.Tell(message.RoleMembership, &message.Death{Type: pool.Name, Host: s.spec.Name, Death: last})
	if pool.respawn.Tripped {
		s.inst.Log.Error("type fails: not started again for a while", "type", pool.Name, "host", s.spec.Name,
			"until", pool.respawn.NextAt.Format(time.TimeOnly), "last_words", why.Told())
		for _, child := range s.children {
			if child.pool == pool && !child.state.Live() {
				s.inst.Send(child.pid, &tripped{})
			}
		}
	}
}

// trouble reports why no child of a type comes up here, or that all is well.
func (s *host) trouble(pool *pool, why scheduler.Account) {
	s.inst.Tell(message.RoleMembership, &message.Trouble{Type: pool.Name, Host: s.spec.Name, Why: why})
}

// arm wakes the host for what only time changes: a pause before a respawn, a
// child that has been READY for long enough to make room, work that has waited
// for too long.
func (s *host) arm(c actor.Context, now time.Time) {
	var at time.Time
	consider := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if s.reach.Down && !s.reach.Trying {
		consider(s.reach.NextAt)
	}
	for _, pool := range s.pools {
		consider(pool.respawn.NotBefore())
		if len(pool.pending) > 0 {
			consider(pool.oldestPending(now).Add(waitForChild))
		}
		if pool.shortage.Short() {
			consider(scheduler.ScaleUp{Start: pool.start(), Shortage: pool.shortage}.Due(now))
		}
		for _, child := range pool.children {
			switch {
			case child.state == scheduler.Freeing && len(s.preemptingFor) > 0:
				consider(child.since.Add(scheduler.SlowExit))
			case child.state == scheduler.ChildReady && !pool.Exec:
				consider(s.lodger(child).Until())
			}
		}
	}
	// One that rings too early costs a look; moving it with every line would cost more.
	if at.IsZero() || s.alarmAt.After(now) && !s.alarmAt.After(at) {
		return
	}
	if s.alarm != nil {
		s.alarm.Stop()
	}
	self, root := c.Self(), s.inst.System.Root
	s.alarmAt = at.Add(time.Millisecond)
	s.alarm = time.AfterFunc(s.alarmAt.Sub(now), func() { root.Send(self, &hostTick{}) })
}

// onReport tells a dispatcher that has lost its books what is held here.
func (s *host) onReport(c actor.Context, m *message.Report, now time.Time) {
	r := &message.Reported{Of: m.Of, From: string(s.spec.Name)}
	for _, pool := range s.pools {
		for _, p := range pool.pending {
			r.Add([]scheduler.Line{p.line})
		}
	}
	for name := range s.children {
		r.Children = append(r.Children, string(s.spec.Name)+"/"+string(name))
	}
	c.Send(m.To, r) // before a child can answer: by then the expected reports must be known
	for _, child := range s.children {
		if child.pid != nil {
			c.Send(child.pid, &message.Report{To: m.To, Of: m.Of, Returns: child.returns})
		}
	}
	s.onWaiting(&message.WaitingTypes{}, now) // the next dispatcher will look for itself
	s.resync(now)
}

// onChildGone: a child's actor died. Its process is being seen to; a new actor
// takes the name when one is wanted.
func (s *host) onChildGone(who *actor.PID, now time.Time) {
	for name, child := range s.children {
		if child.pid.Equal(who) {
			delete(s.children, name)
			child.pool.quota.Release(child.reservation) // if it died before it heard that it was wanted
			child.pool.children = slices.DeleteFunc(child.pool.children, func(other *childHandle) bool { return other == child })
			for _, l := range child.unacked {
				if l.Item != 0 { // an audit finds jobs, and not items
					s.inst.requeue(l, "")
				}
			}
			s.inst.Tell(message.RoleDispatcher, &message.Audit{})
		}
	}
	s.resync(now)
}
