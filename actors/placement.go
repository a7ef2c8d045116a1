package actors

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// waitForChild is how long work that was dealt may wait for a child before it
// goes back to the queue.
const waitForChild = 2 * time.Second

// taken is how many slots are.
func (s *host) taken() int {
	n := 0
	for _, kind := range s.kinds {
		live, _ := kind.live()
		n += live
	}
	return n
}

// could is how many more children of a type may come up beside those who live,
// slots aside.
func (s *host) could(kind *kind, live int, now time.Time) int {
	if s.reach.Down {
		return 0
	}
	may, _ := kind.respawn.May(live, now)
	return scheduler.Bounds{Live: live, PerHost: kind.MaxPerHost, Instance: kind.tally.room(), Respawn: may}.More()
}

// place gives what is pending to children, and brings up the children it takes.
func (s *host) place(c actor.Context, now time.Time) {
	if s.closed { // children that go may still return something
		s.dropPending(func(scheduler.Line) bool { return true }, "")
	}
	if s.asleep || s.closed {
		return
	}
	for _, kind := range s.kinds {
		if len(kind.pending) == 0 {
			if !kind.short.IsZero() {
				kind.scaleUp(now)
			}
			continue
		}
		s.dropFrom(kind, func(l scheduler.Line) bool { return !s.h.mayBegin(&l, now) }, "")
		s.feed(c, kind)
		if kind.yields() { // what was on its way to a child when it was told to: nobody else comes up for it
			s.dropFrom(kind, func(scheduler.Line) bool { return true }, "")
			continue
		}
		n, coming := kind.live()
		worth := kind.scaleUp(now).Worth()
		if s.taken() >= s.spec.Slots { // what was dealt is what others make room for: they do that now, or never
			worth = len(kind.pending) - coming
		}
		for ; worth > 0 && s.could(kind, n, now) > 0; worth-- {
			if s.taken() >= s.spec.Slots {
				s.makeRoom(c, kind, now) // its news will bring us back
				break
			}
			if !s.spawn(c, kind, now) {
				break
			}
			n++
		}
		s.giveUp(kind, n, now)
	}
}

// feed deals pending lines to the children that take them.
func (s *host) feed(c actor.Context, kind *kind) {
	for len(kind.pending) > 0 {
		s.seats = s.seats[:0]
		for _, k := range kind.kids {
			s.seats = append(s.seats, k.seat())
		}
		i, n := scheduler.Deal(s.seats, len(kind.pending))
		if n == 0 {
			return
		}
		best := kind.kids[i]
		lines := make([]scheduler.Line, n)
		for i := range lines {
			lines[i] = kind.pending[i].line
		}
		kind.pending = append(kind.pending[:0], kind.pending[n:]...)
		best.sent += n
		best.unheard = append(best.unheard, lines...)
		c.Send(best.pid, &give{lines, best.returns})
	}
}

// spawn brings up a child, one that has been up before if there is one; false:
// another host has taken the last place of the type.
func (s *host) spawn(c actor.Context, kind *kind, now time.Time) bool {
	k := kind.resting()
	if k == nil {
		k = s.hire(c, kind)
	}
	if k.berth == nil || k.berth.settled.Load() {
		if k.berth = kind.tally.reserve(); k.berth == nil {
			return false
		}
	}
	k.state, k.wanted = scheduler.Prep, now // so it counts at once; its news will agree
	c.Send(k.pid, &want{k.berth})
	return true
}

// hire starts the actor of a child that there was not yet.
func (s *host) hire(c actor.Context, kind *kind) *kid {
	var name scheduler.ChildName
	for i := len(kind.kids) + 1; ; i-- { // that one is free, unless an actor has died and left a gap below
		name = scheduler.ChildName(string(kind.Name) + "." + itoa(int64(i)))
		if s.kids[name] == nil {
			break
		}
	}
	role := roleChild(s.spec.Name, name)
	k := &kid{kind: kind, pid: c.Spawn(props(s.h.Log, role, func() actor.Actor {
		return newChild(s.h, s.spec.Name, name, kind.AgentType, c.Self())
	}, inline))}
	s.h.here(role, k.pid)
	s.kids[name] = k
	kind.kids = append(kind.kids, k)
	return k
}

// makeRoom frees the child that the kill rules let go, if there is one.
func (s *host) makeRoom(c actor.Context, kind *kind, now time.Time) {
	kids := slices.Collect(maps.Values(s.kids))
	lodgers := make([]scheduler.Lodger, len(kids))
	for i, k := range kids {
		lodgers[i] = k.lodger()
	}
	if i := scheduler.MakeRoom(lodgers, kind.Name, s.h.MinReady, now); i >= 0 {
		kids[i].leaving = true
		if !kids[i].kind.Exec { // which has no process to lose, and battles with nobody
			kids[i].kind.gave = now
		}
		c.Send(kids[i].pid, &free{scheduler.StopRoom})
	}
}

// giveUp returns pending work to the queue when no child is there for it, nor
// comes: because its type dies too often, or because others hold the slots.
func (s *host) giveUp(kind *kind, live int, now time.Time) {
	may, _ := kind.respawn.May(live, now)
	why, back := scheduler.GiveUp(live, may, now.Sub(kind.pending0(now)), waitForChild)
	switch {
	case s.reach.Down && live == 0:
		why = s.whyDown()
	case !back:
		return
	case why == "agent_fails":
		why += ": " + cmp.Or(kind.respawn.Trouble(kind.trouble).Reason, kind.trouble.Reason)
	}
	s.dropFrom(kind, func(scheduler.Line) bool { return true }, why)
	s.resyncSoon()
}

func (s *host) dropPending(which func(scheduler.Line) bool, why string) {
	for _, kind := range s.kinds {
		s.dropFrom(kind, which, why)
	}
}

func (s *host) dropFrom(kind *kind, which func(scheduler.Line) bool, why string) {
	kind.pending = slices.DeleteFunc(kind.pending, func(p pending) bool {
		if which(p.line) {
			s.h.giveBack(p.line, why)
			return true
		}
		return false
	})
}
