package actors

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// host owns the slots of one place: it asks for work by giving out credits,
// places what it is dealt on children, and makes children come and go.
type host struct {
	h     *house
	spec  HostSpec
	types map[scheduler.TypeName]*kind
	kinds []*kind // the same, by name: every message goes through them
	kids  map[scheduler.ChildName]*kid
	// Credits that are out: what we asked for and have not been dealt yet. A
	// new epoch forgets them.
	epoch       uint64
	grantedRoom int
	making      []scheduler.TypeName             // types for which enough children take no more lines
	waits       map[scheduler.TypeName]time.Time // since when types wait of which there is no child
	asleep      bool                             // before the last incarnation's processes are dead
	closed      bool                             // leaving: nothing is taken any more
	seats       []scheduler.Seat                 // of one look, kept for the next
	reach       scheduler.Reach
	endReach    func() // ends the attempt to reach it
	boss        *actor.PID
	alarm       *time.Timer
	alarmAt     time.Time
}

func newHost(h *house, spec HostSpec) *host {
	s := &host{h: h, spec: spec, types: map[scheduler.TypeName]*kind{}, kids: map[scheduler.ChildName]*kid{}, epoch: uint64(time.Now().UnixNano())}
	for _, a := range h.Agents {
		if (len(spec.Only) == 0 || slices.Contains(spec.Only, a.Name)) && (!a.Local || !spec.Far) {
			s.types[a.Name] = &kind{AgentType: a, tally: h.census[a.Name], told: untold, respawn: scheduler.Respawn{Up: a.Exec}}
			s.kinds = append(s.kinds, s.types[a.Name])
		}
	}
	slices.SortFunc(s.kinds, func(a, b *kind) int { return cmp.Compare(a.Name, b.Name) })
	if spec.Far {
		s.reach = scheduler.Untried()
	}
	return s
}

// awake: the processes of the last incarnation are dead. To itself.
type awake struct{}

// look: something that time decides may have changed. To itself.
type look struct{}

func (s *host) Receive(c actor.Context) {
	now := time.Now()
	switch m := c.Message().(type) {
	case *actor.Started:
		s.boss = c.Parent()
		s.asleep = true
		self, root, empty := c.Self(), s.h.system.Root, s.h.yards[s.spec.Name].whenEmpty()
		go func() { <-empty; root.Send(self, &awake{}) }()
		return
	case *awake:
		s.asleep = false
		s.showReach()
		s.h.tell(roleMSQs, &arrived{s.spec.Name, c.Self()})
		s.resync(now) // and then to what was dealt meanwhile
	case *actor.Stopping:
		s.stopping()
		return
	case *actor.Stopped: // and its children are
		for _, k := range s.kids {
			k.kind.tally.giveBack(k.berth)
		}
		return
	case *actor.Terminated:
		s.onChildGone(m.Who)
		s.resync(now)
	case *deal:
		s.onDeal(m, now)
	case deals:
		for _, one := range m {
			s.onDeal(one, now)
		}
	case *news:
		s.onNews(m, now)
	case *closed:
		s.resync(now)
	case *reached:
		s.onReached(m, now)
	case *crowded:
		s.onCrowded(m, now)
	case *look, *divided:
	case *report:
		s.onReport(c, m, now)
		return
	case *describe:
		if !m.tell(s.describe()) {
			s.forward(c, m)
		}
		return
	case *leased:
		s.forward(c, m)
		return
	case *cancelJob:
		s.forward(c, m)
		s.dropPending(func(l scheduler.Line) bool { return l.Claim == m.Claim }, "")
	case *drop:
		s.forward(c, m)
		s.dropPending(func(l scheduler.Line) bool { return slices.Contains(m.Claims, l.Claim) }, "")
	case *fenced:
		for name, k := range s.kids {
			if k.state == scheduler.Busy {
				c.Send(k.pid, &kill{scheduler.StopFenced})
				s.kids[name].leaving = true
			}
		}
		s.dropPending(func(scheduler.Line) bool { return true }, "")
	case *leave:
		s.onLeave(c, m)
	default:
		return
	}
	s.tryReach(c, now)
	s.place(c, now)
	s.ask(now)
	s.arm(c, now)
}

func (s *host) forward(c actor.Context, m any) {
	for _, k := range s.kids {
		if k.pid != nil {
			c.Send(k.pid, m)
		}
	}
}

func (s *host) onDeal(m *deal, now time.Time) {
	kind := s.types[m.Type]
	for _, l := range m.Lines {
		if m.Epoch == s.epoch {
			if l.Assigned {
				s.grantedRoom = max(0, s.grantedRoom-1)
				if kind != nil {
					kind.told = untold // the dispatcher has counted it down
				}
			} else if kind != nil {
				kind.granted = max(0, kind.granted-1)
			}
		}
		if kind == nil || s.closed {
			s.h.giveBack(l, "")
			continue
		}
		kind.pending = append(kind.pending, pending{l, now})
	}
}

func (s *host) onNews(m *news, now time.Time) {
	k := s.kids[m.Name]
	if k == nil {
		return
	}
	was := k.state
	k.unheard = slices.Delete(k.unheard, 0, m.Received-k.got)
	k.state, k.since, k.room, k.got = m.State, m.Since, m.Room, m.Received
	if len(m.Returned) > 0 {
		k.returns++
		k.kind.takeBack(m.Returned, now)
	}
	if m.LineTime > 0 {
		k.kind.line = m.LineTime
	}
	if m.Rose {
		k.up, k.kind.start = now, now.Sub(k.wanted)
		failed := k.kind.respawn.Starts > 0
		if k.kind.respawn = k.kind.respawn.SaidOK(); failed {
			s.trouble(k.kind, k.kind.respawn.Trouble(k.kind.trouble))
		}
	}
	if m.Proved && k.kind.respawn.InARow > 0 {
		k.kind.respawn = k.kind.respawn.Proved()
		s.trouble(k.kind, scheduler.Account{})
		s.h.tell(roleMembership, &death{Type: k.kind.Name, Host: s.spec.Name})
	}
	if m.Cut != "" {
		s.onCut(m.Cut, now)
	}
	if m.Died {
		s.onDeath(k.kind, m, now)
	}
	if m.Unguarded {
		k.kind.respawn.Guards, k.kind.trouble = k.kind.respawn.Guards.Died(now, luck()), m.Blame
	}
	if was != m.State && !m.State.Live() {
		k.leaving, k.yields, k.spare = false, false, false
		s.resync(now) // what it had room for is gone
	}
}

func (s *host) onDeath(kind *kind, m *news, now time.Time) {
	why := m.Blame
	if m.NotUp {
		kind.respawn = kind.respawn.NotUp(s.h.Respawn, now, luck())
	} else {
		kind.respawn = kind.respawn.Died(s.h.Respawn, now, luck())
	}
	kind.trouble = why
	if told := kind.respawn.Trouble(why); told != (scheduler.Account{}) {
		s.trouble(kind, told)
	}
	last := scheduler.Death{At: now, Deaths: kind.respawn.InARow, Why: why.Reason}
	s.h.tell(roleMembership, &death{kind.Name, s.spec.Name, last})
	if kind.respawn.Barred {
		s.h.Log.Error("type fails: not started again for a while", "type", kind.Name, "host", s.spec.Name,
			"until", kind.respawn.NextAt.Format(time.TimeOnly), "last_words", why.Told())
		for _, k := range s.kids {
			if k.kind == kind && !k.state.Live() {
				s.h.system.Root.Send(k.pid, &barred{})
			}
		}
	}
}

// trouble tells everybody why no child of a type comes up here, or that all is well.
func (s *host) trouble(kind *kind, why scheduler.Account) {
	s.h.tell(roleMembership, &trouble{kind.Name, s.spec.Name, why})
}

// arm wakes the host for what only time changes: a pause before a respawn, a
// child that has been READY for long enough to make room, work that has waited
// for too long.
func (s *host) arm(c actor.Context, now time.Time) {
	var at time.Time
	rest := now.Add(-s.h.MinReady)
	consider := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if s.reach.Down && !s.reach.Trying {
		consider(s.reach.NextAt)
	}
	for _, kind := range s.kinds {
		consider(kind.respawn.NotBefore())
		if len(kind.pending) > 0 {
			consider(kind.pending0(now).Add(waitForChild))
			if !kind.short.IsZero() {
				consider(kind.short.Add(kind.patience()))
			}
		}
		for _, k := range kind.kids {
			if k.state == scheduler.ChildReady && !kind.Exec && k.since.After(rest) {
				consider(k.since.Add(s.h.MinReady))
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
	self, root := c.Self(), s.h.system.Root
	s.alarmAt = at.Add(time.Millisecond)
	s.alarm = time.AfterFunc(s.alarmAt.Sub(now), func() { root.Send(self, &look{}) })
}

// onReport tells a dispatcher that has lost its books what is held here.
func (s *host) onReport(c actor.Context, m *report, now time.Time) {
	r := &reported{Of: m.Of, From: string(s.spec.Name)}
	for _, kind := range s.kinds {
		for _, p := range kind.pending {
			r.add([]scheduler.Line{p.line})
		}
	}
	for name := range s.kids {
		r.Children = append(r.Children, string(s.spec.Name)+"/"+string(name))
	}
	c.Send(m.To, r) // before a child can answer: who is waited for must be known by then
	s.forward(c, m)
	s.onCrowded(&crowded{}, now) // the next dispatcher will look for itself
	s.resync(now)
}

// onChildGone: a child's actor died. Its process is being seen to; a new actor
// takes the name when one is wanted.
func (s *host) onChildGone(who *actor.PID) {
	for name, k := range s.kids {
		if k.pid.Equal(who) {
			delete(s.kids, name)
			k.kind.tally.giveBack(k.berth) // if it died before it heard that it was wanted
			k.kind.kids = slices.DeleteFunc(k.kind.kids, func(other *kid) bool { return other == k })
			for _, l := range k.unheard {
				if l.Item != 0 { // an audit finds jobs, and not items
					s.h.giveBack(l, "")
				}
			}
			s.h.tell(roleDispatcher, &audit{})
		}
	}
}

// onLeave ends the children: those at work only when the order is to kill.
func (s *host) onLeave(c actor.Context, m *leave) {
	s.closed = true
	s.stopReach()
	s.dropPending(func(scheduler.Line) bool { return true }, "")
	for _, k := range s.kids {
		if !k.state.Live() {
			continue
		}
		if m.all || k.state == scheduler.Busy {
			c.Send(k.pid, &kill{scheduler.StopShutdown})
		} else if !k.leaving {
			c.Send(k.pid, &free{scheduler.StopShutdown})
		}
		k.leaving = true
	}
	if m.all {
		return // the first leave waits already
	}
	boss, root, empty := s.boss, s.h.system.Root, s.h.yards[s.spec.Name].whenEmpty()
	go func() { <-empty; root.Send(boss, &left{}) }()
}

// stopping: what is pending is in nobody's hands. The children see to theirs.
// While they stop, messages still come; none may bring up another child, or the
// host would never end.
func (s *host) stopping() {
	s.closed = true
	s.stopReach()
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.dropPending(func(scheduler.Line) bool { return true }, "")
}
