package host

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/lasting"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// pool is what a host knows of one type.
type pool struct {
	port.AgentType
	gone      bool // the configuration has it no more: nothing is taken, and what lives goes
	quota     *lasting.Quota
	respawn   scheduler.Respawn
	trouble   scheduler.Account // of the last death, told while none comes up or the type is barred
	granted   int
	spawn     int      // lines for which children could come up
	told      int      // of these, what the dispatcher knows; untold: it has to be told
	capacity  capacity // at the last look
	pending   []pending
	children  []*childHandle
	lineTime  time.Duration // what a line takes a child; 0: not known
	startTime time.Duration // what it took a child to come up; 0: not known
	shortage  scheduler.Shortage
}

const untold = -1

type pending struct {
	line  scheduler.Line
	since time.Time
}

// putBack puts lines that were not started where they were in the order.
func (pool *pool) putBack(lines []scheduler.Line, now time.Time) {
	for _, l := range lines {
		pool.pending = append(pool.pending, pending{l, now})
	}
	slices.SortStableFunc(pool.pending, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.line.Priority, b.line.Priority), cmp.Compare(a.line.Claim.Job, b.line.Claim.Job),
			cmp.Compare(a.line.Item, b.line.Item))
	})
}

// live is how many children of a type hold a slot, and how many of them are
// still coming up.
func (pool *pool) live() (n, coming int) {
	for _, child := range pool.children {
		if child.state.Live() {
			n++
			if child.state == scheduler.Prep || child.state == scheduler.Spawned {
				coming++
			}
		}
	}
	return n, coming
}

// slots is how many slots its children hold.
func (pool *pool) slots() (n int) {
	for _, child := range pool.children {
		if child.state.Live() {
			n += child.has.Slots()
		}
	}
	return n
}

// scaleUp is what waits for its children, after they have been given what they
// have room for.
func (pool *pool) scaleUp(now time.Time) scheduler.ScaleUp {
	b := scheduler.ScaleUp{Lines: len(pool.pending), Line: pool.lineTime, Start: pool.start()}
	_, b.Coming = pool.live()
	for _, child := range pool.children {
		if child.takes() {
			b.Warm++
			b.Behind += max(0, child.held+child.sent-child.got-1)
		}
	}
	pool.shortage = pool.shortage.Look(b.Coming == 0 && b.Warm > 0 && !pool.idle(), b.Lines+b.Behind > 0, now)
	b.Shortage = pool.shortage
	return b
}

// start is what it takes a process to come up; 0: that is not known, or there is one for each line, whatever comes.
func (pool *pool) start() time.Duration {
	if pool.Exec {
		return 0
	}
	return pool.startTime
}

// idle reports whether a child has nothing to do.
func (pool *pool) idle() bool {
	return slices.ContainsFunc(pool.children, func(child *childHandle) bool { return child.takes() && child.seat().Idle })
}

// withoutProcess is a child that has no process just now; nil: there is none.
func (pool *pool) withoutProcess() *childHandle {
	i := slices.IndexFunc(pool.children, func(child *childHandle) bool { return !child.state.Live() })
	if i < 0 {
		return nil
	}
	return pool.children[i]
}

// draining reports whether a child of it makes room for others.
func (pool *pool) draining() bool {
	return slices.ContainsFunc(pool.children,
		func(child *childHandle) bool { return child.state.Live() && child.draining })
}

func (pool *pool) oldestPending(now time.Time) time.Time {
	if len(pool.pending) == 0 {
		return now
	}
	return pool.pending[0].since
}

// childHandle is a child as its host sees it.
type childHandle struct {
	pid         *actor.PID
	reservation *lasting.Reservation
	pool        *pool
	has         scheduler.Takes // what it holds while it lives
	state       scheduler.ChildState
	since       time.Time
	room        int
	held        int              // lines that it has, by its last word
	got         int              // lines that it says it was given
	sent        int              // lines that we gave
	unacked     []scheduler.Line // those of them that it has not said it was given
	returns     int              // how often it gave some back
	leaving     bool
	wanted      time.Time     // when it was told to come up
	draining    bool          // takes no more lines, so that it may go
	yieldsSince time.Time     // and since when
	keep        time.Duration // and goes when it has had nothing to do for so long
	kept        kept          // what it has been told of that
	stale       bool          // of the configuration before: takes no more lines, and goes when it has nothing to do
}

// takes reports whether it is up, and gets lines as soon as it has room.
func (child *childHandle) takes() bool {
	up := child.state == scheduler.ChildReady || child.state == scheduler.Busy
	return up && !child.leaving && !child.draining && !child.stale
}

// roomLeft is how many more lines the child takes, those under way to it counted.
func (child *childHandle) roomLeft() int {
	if child.leaving || child.draining || child.stale {
		return 0
	}
	return max(0, child.room-(child.sent-child.got))
}

// seat is the child as scheduler.Deal sees it.
func (child *childHandle) seat() scheduler.Seat {
	return scheduler.Seat{Idle: child.state == scheduler.ChildReady && child.sent == child.got, Free: child.roomLeft()}
}

// lodger is the child as the kill rules see it. One of mode exec has no process to lose. One that was not asked for
// room goes after min_ready.
func (s *host) lodger(child *childHandle) scheduler.Lodger {
	keep := s.inst.setup().MinReady
	switch {
	case child.pool.Exec:
		keep = 0
	case child.draining:
		keep = min(keep, child.keep)
	}
	return scheduler.Lodger{Type: child.pool.Name, State: child.state, Since: child.since, Keep: keep,
		Given: child.sent != child.got, Wanted: len(child.pool.pending) > 0, Leaving: child.leaving}
}

func (s *host) onDescribe(c actor.Context, m *message.Describe, now time.Time) {
	if r := s.describe(now); !m.Tell(r) {
		s.inst.Tell(message.RoleMembership, &r)
		s.forward(c, m)
	}
}

func (s *host) describe(now time.Time) scheduler.HostReport {
	slots := scheduler.Slots{All: s.spec.Slots, Taken: s.taken(), By: map[scheduler.TypeName]int{}}
	for _, pool := range s.pools {
		if n, _ := pool.live(); n > 0 {
			slots.By[pool.Name] = pool.slots()
		}
	}
	r := scheduler.HostReport{Name: s.spec.Name, Slots: slots.All, Taken: slots.Taken,
		Bounds: scheduler.BoundsOf(s.spec.Name, slots)}
	stocks := s.stocks(true)
	for _, pool := range s.pools {
		r.Waiting += len(pool.pending)
		hit := ""
		whom, _ := s.reserves.For(pool.Name, pool.Takes)
		if !pool.idle() || pool.Exec && whom != "" { // else an idle child takes the next line
			live, coming := pool.live()
			b := s.bounds(pool, live, now)
			b.Up, b.Takes, b.Stocks, b.Reserves = live-coming, pool.Takes, stocks, s.reserves
			hit = b.Hit(pool.Name, s.spec.Name, slots, pool.trouble.Reason)
		}
		r.Bounds.Note(pool.Name, hit)
	}
	return r
}
