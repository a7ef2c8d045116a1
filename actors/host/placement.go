package host

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// waitForChild is how long work that was dealt may wait for a child before it
// goes back to the queue.
const waitForChild = 2 * time.Second

// could is how many more children of a type may come up beside the living ones, slots aside.
func (s *host) could(pool *pool, live int, now time.Time) int {
	if s.reach.Down || pool.gone {
		return 0
	}
	return s.bounds(pool, live, now).More()
}

func (s *host) bounds(pool *pool, live int, now time.Time) scheduler.Bounds {
	b := pool.quota.Bounds()
	b.Live, b.PerHost, b.InARow = live, pool.MaxPerHost, pool.respawn.InARow
	b.Respawn, _ = pool.respawn.May(live, now)
	return b
}

// place gives what is pending to children, and brings up the children it takes.
func (s *host) place(c actor.Context, now time.Time) {
	if s.leaving { // children that go may still return something
		s.dropPending(func(scheduler.Line) bool { return true }, "")
	}
	if s.asleep || s.leaving {
		return
	}
	for _, pool := range s.pools {
		if len(pool.pending) > 0 {
			s.dropFrom(pool, func(l scheduler.Line) bool { return !s.inst.MayBegin(&l, now) }, "")
			s.feed(c, pool)
		} else if !pool.shortage.Busy() && (pool.idle() || len(pool.children) == 0) {
			continue // none of its children is behind
		}
		if pool.draining() { // it was on its way to a child when that was told to leave: no other comes up for it
			s.dropFrom(pool, func(scheduler.Line) bool { return true }, "")
			continue
		}
		s.grow(c, pool, now)
	}
}

// grow brings up the children that a pool is short of.
func (s *host) grow(c actor.Context, pool *pool, now time.Time) {
	b := pool.scaleUp(now)
	if len(pool.pending) == 0 && !b.Shortage.Short() {
		return
	}
	if b.Spare = s.fit(pool); s.shared() {
		b.Spare--
	}
	n, coming := pool.live()
	worth := b.Worth()
	if s.fit(pool) <= 0 { // what was dealt is what others make room for: they do that now, or never
		worth = len(pool.pending) - coming
	}
	for ; worth > 0 && s.could(pool, n, now) > 0; worth-- {
		if s.fit(pool) <= 0 {
			s.makeRoom(c, pool, now) // its news will bring us back
			break
		}
		if !s.spawn(c, pool, now) {
			break
		}
		n++
	}
	s.giveUp(pool, n, now)
}

// feed deals pending lines to the children that take them.
func (s *host) feed(c actor.Context, pool *pool) {
	for len(pool.pending) > 0 {
		s.seats = s.seats[:0]
		for _, child := range pool.children {
			s.seats = append(s.seats, child.seat())
		}
		i, n := scheduler.Deal(s.seats, len(pool.pending))
		if n == 0 {
			return
		}
		best := pool.children[i]
		lines := make([]scheduler.Line, n)
		for i := range lines {
			lines[i] = pool.pending[i].line
		}
		pool.pending = append(pool.pending[:0], pool.pending[n:]...)
		best.sent += n
		best.unacked = append(best.unacked, lines...)
		c.Send(best.pid, &assign{lines, best.returns})
	}
}

// spawn brings up a child, one that has been up before if there is one; false:
// another host has taken the last place of the type.
func (s *host) spawn(c actor.Context, pool *pool, now time.Time) bool {
	child := pool.withoutProcess()
	if child == nil {
		child = s.newChild(c, pool)
	}
	if child.reservation == nil || child.reservation.Settled.Load() {
		if child.reservation = pool.quota.Reserve(); child.reservation == nil {
			return false
		}
	}
	child.state, child.wanted, child.has = scheduler.Prep, now, pool.Takes // so it counts at once; its news will agree
	c.Send(child.pid, &want{child.reservation})
	return true
}

// newChild starts the actor of a child that there was not yet.
func (s *host) newChild(c actor.Context, pool *pool) *childHandle {
	var name scheduler.ChildName
	for i := len(pool.children) + 1; ; i-- { // that one is free, unless an actor has died and left a gap below
		name = scheduler.ChildName(string(pool.Name) + "." + strconv.Itoa(i))
		if s.children[name] == nil {
			break
		}
	}
	role := message.RoleChild(s.spec.Name, name)
	child := &childHandle{pool: pool, pid: c.Spawn(tree.Props(s.inst.Log, role, func() actor.Actor {
		return newChild(s.inst, s.spec.Name, name, pool.AgentType, c.Self())
	}, tree.Inline))}
	s.inst.Register(role, child.pid)
	s.children[name] = child
	pool.children = append(pool.children, child)
	return child
}

// makeRoom frees the child that the kill rules let go, if there is one.
func (s *host) makeRoom(c actor.Context, pool *pool, now time.Time) {
	lacks := s.lacks(pool)
	children := slices.Collect(maps.Values(s.children))
	children = slices.DeleteFunc(children, func(child *childHandle) bool { return child.has.Amount(lacks) == 0 })
	lodgers := make([]scheduler.Lodger, len(children))
	for i, child := range children {
		lodgers[i] = s.lodger(child)
	}
	if i := scheduler.MakeRoom(lodgers, pool.Name, s.short(lacks), now); i >= 0 {
		children[i].leaving = true
		c.Send(children[i].pid, &dismiss{scheduler.StopRoom})
	}
}

// short is how much is missing of a resource for the lines that wait here; without a name: how many slots.
func (s *host) short(lacks string) (n int) {
	for _, pool := range s.pools {
		if len(pool.pending) > 0 {
			_, coming := pool.live()
			n += max(0, len(pool.pending)-coming) * pool.Takes.Amount(lacks)
		}
	}
	return n
}

// giveUp returns pending work to the queue when no child is there for it, nor
// comes: because its type dies too often, or because others hold the slots.
func (s *host) giveUp(pool *pool, live int, now time.Time) {
	may, _ := pool.respawn.May(live, now)
	why, back := scheduler.GiveUp(live, may, now.Sub(pool.oldestPending(now)), waitForChild)
	switch {
	case s.reach.Down && live == 0:
		why = s.whyDown()
	case !back:
		return
	case why == "agent_fails":
		why += ": " + cmp.Or(pool.respawn.Trouble(pool.trouble).Reason, pool.respawn.LastWords(pool.trouble.Reason))
	}
	s.dropFrom(pool, func(scheduler.Line) bool { return true }, why)
	s.resyncSoon()
}

func (s *host) dropPending(which func(scheduler.Line) bool, why string) {
	for _, pool := range s.pools {
		s.dropFrom(pool, which, why)
	}
}

func (s *host) dropFrom(pool *pool, which func(scheduler.Line) bool, why string) {
	pool.pending = slices.DeleteFunc(pool.pending, func(p pending) bool {
		if which(p.line) {
			s.inst.requeue(p.line, why)
			return true
		}
		return false
	})
}
