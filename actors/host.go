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

// host owns the slots of one place: it asks for work by giving out credits,
// places what it is dealt on children, and makes children come and go.
type host struct {
	h     *house
	spec  HostSpec
	types map[scheduler.TypeName]*kind
	kids  map[scheduler.ChildName]*kid
	// Credits that are out: what we asked for and have not been dealt yet. A
	// new epoch forgets them.
	epoch       uint64
	grantedRoom int
	spawnTold   map[scheduler.TypeName]int
	asleep      bool // before the last incarnation's processes are dead
	closed      bool // leaving: nothing is taken any more
	boss        *actor.PID
	alarm       *time.Timer
}

// kind is what a host knows of one type.
type kind struct {
	AgentType
	respawn scheduler.Respawn
	trouble string // the last death's words, told while the type is barred
	granted int
	pending []pending
	kids    []*kid
}

type pending struct {
	line  scheduler.Line
	since time.Time
}

// kid is a child as its host sees it.
type kid struct {
	pid     *actor.PID
	berth   *berth
	kind    *kind
	state   scheduler.ChildState
	since   time.Time
	room    int
	got     int              // lines that it says it was given
	sent    int              // lines that we gave
	unheard []scheduler.Line // those of them that it has not said it was given
	returns int              // how often it gave some back
	leaving bool
}

// free is how many more lines the kid takes, those under way to it counted.
func (k *kid) free() int {
	if k.leaving {
		return 0
	}
	return max(0, k.room-(k.sent-k.got))
}

func newHost(h *house, spec HostSpec) *host {
	s := &host{h: h, spec: spec, types: map[scheduler.TypeName]*kind{}, kids: map[scheduler.ChildName]*kid{}, epoch: uint64(time.Now().UnixNano())}
	for _, a := range h.Agents {
		s.types[a.Name] = &kind{AgentType: a}
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
		s.h.tell(roleMSQs, &arrived{s.spec.Name, c.Self()})
		s.resync(now) // and then to what was dealt meanwhile
	case *actor.Stopping:
		s.stopping()
		return
	case *actor.Stopped: // and its children are
		for _, k := range s.kids {
			s.h.census.giveBack(k.kind.Name, k.berth)
		}
		return
	case *actor.Terminated:
		s.onChildGone(m.Who)
		s.resync(now)
	case *deal:
		s.onDeal(m, now)
	case *news:
		s.onNews(m, now)
	case *closed:
		s.resync(now)
	case *look, *divided:
	case *report:
		s.onReport(c, m, now)
		return
	case *leased, *describe:
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
				c.Send(k.pid, &kill{scheduler.OrderFenced})
				s.kids[name].leaving = true
			}
		}
		s.dropPending(func(scheduler.Line) bool { return true }, "")
	case *leave:
		s.onLeave(c, m)
	default:
		return
	}
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
	if m.Proved && k.kind.respawn.InARow > 0 {
		k.kind.respawn = k.kind.respawn.Proved()
		s.trouble(k.kind, "")
	}
	if m.Died {
		s.onDeath(k.kind, m.Words, now)
	}
	if was != m.State && !m.State.Live() {
		k.leaving = false
		s.resync(now) // what it had room for is gone
	}
}

// takeBack puts lines that were not started where they were in the order.
func (kind *kind) takeBack(lines []scheduler.Line, now time.Time) {
	for _, l := range lines {
		kind.pending = append(kind.pending, pending{l, now})
	}
	slices.SortStableFunc(kind.pending, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.line.Priority, b.line.Priority), cmp.Compare(a.line.Claim.Job, b.line.Claim.Job), cmp.Compare(a.line.Item, b.line.Item))
	})
}

func (s *host) onDeath(kind *kind, words string, now time.Time) {
	kind.respawn = kind.respawn.Died(s.h.Respawn, now, luck())
	kind.trouble = words
	if kind.respawn.Barred {
		s.h.Log.Error("type fails: not started again for a while", "type", kind.Name, "host", s.spec.Name,
			"until", kind.respawn.NextAt.Format(time.TimeOnly), "last_words", words)
		s.trouble(kind, words)
		for _, k := range s.kids {
			if k.kind == kind && !k.state.Live() {
				s.h.system.Root.Send(k.pid, &barred{})
			}
		}
	}
}

// trouble tells everybody why no child of a type comes up here, or that all is well.
func (s *host) trouble(kind *kind, words string) {
	s.h.tell(roleMembership, &trouble{kind.Name, s.spec.Name, words})
}

// taken is how many slots are.
func (s *host) taken() int {
	n := 0
	for _, k := range s.kids {
		if k.state.Live() {
			n++
		}
	}
	return n
}

// live is how many children of a type hold a slot, and how many of them are
// still coming up.
func (k *kind) live() (n, coming int) {
	for _, kid := range k.kids {
		if kid.state.Live() {
			n++
			if kid.state == scheduler.Prep || kid.state == scheduler.Spawned {
				coming++
			}
		}
	}
	return n, coming
}

// could is how many more children of a type may come up, slots aside.
func (s *host) could(kind *kind, now time.Time) int {
	n, _ := kind.live()
	may, _ := kind.respawn.May(n, now)
	may = min(may, s.h.census.room(kind.Name))
	if kind.MaxPerHost > 0 {
		may = min(may, kind.MaxPerHost-n)
	}
	return max(0, may)
}

// place gives what is pending to children, and brings up the children it takes.
func (s *host) place(c actor.Context, now time.Time) {
	if s.closed { // children that go may still return something
		s.dropPending(func(scheduler.Line) bool { return true }, "")
	}
	if s.asleep || s.closed {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.types)) {
		kind := s.types[name]
		if len(kind.pending) == 0 {
			continue
		}
		s.dropFrom(kind, func(l scheduler.Line) bool { return !s.h.mayBegin(&l, now) }, "")
		s.feed(c, kind)
		n, coming := kind.live()
		for coming < len(kind.pending) && s.could(kind, now) > 0 {
			if s.taken() >= s.spec.Slots {
				s.makeRoom(c, kind, now) // its news will bring us back
				break
			}
			s.spawn(c, kind)
			coming++
			n++
		}
		s.giveUp(kind, n, now)
	}
}

// feed deals pending lines to the children with the most room, one line at a
// time to each as long as there are children with nothing to do.
func (s *host) feed(c actor.Context, kind *kind) {
	for len(kind.pending) > 0 {
		var best *kid
		for _, k := range kind.kids {
			if k.free() > 0 && (best == nil || idler(k, best)) {
				best = k
			}
		}
		if best == nil {
			return
		}
		n := min(best.free(), len(kind.pending))
		if best.state == scheduler.ChildReady && best.sent == best.got {
			n = min(n, kind.fairPart(len(kind.pending)))
		}
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

// fairPart is an even share of n lines among the children that have room.
func (kind *kind) fairPart(n int) int {
	takers := 0
	for _, k := range kind.kids {
		if k.free() > 0 {
			takers++
		}
	}
	return max(1, (n+takers-1)/max(1, takers))
}

// idler orders children for work: one with nothing to do first, then the one
// with the most room.
func idler(a, b *kid) bool {
	idleA, idleB := a.state == scheduler.ChildReady && a.sent == a.got, b.state == scheduler.ChildReady && b.sent == b.got
	if idleA != idleB {
		return idleA
	}
	return a.free() > b.free()
}

// spawn brings up a child, one that has been up before if there is one.
func (s *host) spawn(c actor.Context, kind *kind) {
	for i := 1; ; i++ {
		name := scheduler.ChildName(string(kind.Name) + "." + itoa(int64(i)))
		k := s.kids[name]
		if k == nil {
			role := roleChild(s.spec.Name, name)
			k = &kid{kind: kind, pid: c.Spawn(props(s.h.Log, role, func() actor.Actor {
				return newChild(s.h, s.spec.Name, name, kind.AgentType, c.Self())
			}))}
			s.h.here(role, k.pid)
			s.kids[name] = k
			kind.kids = append(kind.kids, k)
		} else if k.state.Live() {
			continue
		}
		k.state = scheduler.Prep // so it counts at once; its news will agree
		if k.berth == nil || k.berth.settled.Load() {
			k.berth = s.h.census.reserve(kind.Name)
		}
		c.Send(k.pid, &want{k.berth})
		return
	}
}

// makeRoom frees an idle child of another type, the one idle for longest, but
// none that has been READY for less than min_ready: two types would battle for
// the slot for ever (seed 000, MINKILLTIME).
func (s *host) makeRoom(c actor.Context, kind *kind, now time.Time) {
	var oldest *kid
	for _, k := range s.kids {
		if k.leaving {
			return // on its way
		}
		if s.freeable(k, kind, now) && (oldest == nil || k.since.Before(oldest.since)) {
			oldest = k
		}
	}
	if oldest != nil {
		oldest.leaving = true
		c.Send(oldest.pid, &free{scheduler.OrderRoom})
	}
}

func (s *host) freeable(k *kid, wanted *kind, now time.Time) bool {
	least := s.h.MinReady
	if k.kind.Exec {
		least = 0 // there is no process to battle over
	}
	return k.kind != wanted && k.state == scheduler.ChildReady && !k.leaving && k.sent == k.got &&
		len(k.kind.pending) == 0 && now.Sub(k.since) >= least
}

// giveUp returns pending work to the queue when no child is there for it, nor
// comes: because its type dies too often, or because others hold the slots.
func (s *host) giveUp(kind *kind, n int, now time.Time) {
	why := "no_room"
	if may, _ := kind.respawn.May(n, now); n == 0 && may == 0 {
		why = "agent_fails: " + kind.trouble
	} else if n > 0 || now.Sub(kind.pending0(now)) < waitForChild {
		return
	}
	s.dropFrom(kind, func(scheduler.Line) bool { return true }, why)
	s.resyncSoon()
}

func (k *kind) pending0(now time.Time) time.Time {
	if len(k.pending) == 0 {
		return now
	}
	return k.pending[0].since
}

func (s *host) dropPending(which func(scheduler.Line) bool, why string) {
	for _, kind := range s.types {
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

// resync forgets the credits that are out and asks anew: after a child is
// gone, what it had room for must not be waited for.
func (s *host) resync(now time.Time) {
	s.resyncSoon()
	s.ask(now)
}

func (s *host) resyncSoon() {
	s.epoch++
	s.grantedRoom = 0
	s.spawnTold = nil
	for _, kind := range s.types {
		kind.granted = 0
	}
}

// ask tells the dispatcher what this host can take beyond what it has asked
// for already.
func (s *host) ask(now time.Time) {
	if s.asleep || s.closed {
		return
	}
	m := &credits{Host: s.spec.Name, Epoch: s.epoch, Spawn: map[scheduler.TypeName]int{}}
	all, waiting, freeable := 0, 0, 0
	for _, k := range s.kids {
		if k.state.Live() {
			all++
		}
		if s.freeable(k, nil, now) {
			freeable++
		}
	}
	for name, kind := range s.types {
		room := 0
		_, coming := kind.live()
		for _, k := range kind.kids {
			room += k.free()
		}
		short := len(kind.pending) - room
		if short > 0 {
			waiting += max(0, short-coming)
		}
		if more := room - len(kind.pending) - kind.granted; more > 0 {
			if m.Now == nil {
				m.Now = map[scheduler.TypeName]int{}
			}
			m.Now[name] = more
			kind.granted += more
		}
		if could := max(0, s.could(kind, now)-max(0, short-coming)); could > 0 {
			m.Spawn[name] = could
		}
	}
	if more := s.spec.Slots - all + freeable - waiting - s.grantedRoom; more > 0 {
		m.Room = more
		s.grantedRoom += more
	}
	if len(m.Now) > 0 || m.Room > 0 || !maps.Equal(m.Spawn, s.spawnTold) {
		s.spawnTold = maps.Clone(m.Spawn) // the message's is the dispatcher's, who counts it down
		m.Answers = []string{string(s.spec.Name)}
		s.h.tell(roleDispatcher, m)
	}
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
	for _, kind := range s.types {
		consider(kind.respawn.NextAt)
		if len(kind.pending) > 0 {
			consider(kind.pending0(now).Add(waitForChild))
		}
	}
	for _, k := range s.kids {
		if k.state == scheduler.ChildReady && !k.kind.Exec {
			consider(k.since.Add(s.h.MinReady))
		}
	}
	if s.alarm != nil {
		s.alarm.Stop()
		s.alarm = nil
	}
	if !at.IsZero() {
		self, root := c.Self(), s.h.system.Root
		s.alarm = time.AfterFunc(at.Sub(now)+time.Millisecond, func() { root.Send(self, &look{}) })
	}
}

// onReport tells a dispatcher that has lost its books what is held here.
func (s *host) onReport(c actor.Context, m *report, now time.Time) {
	r := &reported{Of: m.Of, From: string(s.spec.Name)}
	for _, kind := range s.types {
		for _, p := range kind.pending {
			r.add([]scheduler.Line{p.line})
		}
	}
	for name := range s.kids {
		r.Children = append(r.Children, string(s.spec.Name)+"/"+string(name))
	}
	c.Send(m.To, r) // before a child can answer: who is waited for must be known by then
	s.forward(c, m)
	s.resync(now)
}

// onChildGone: a child's actor died. Its process is being seen to; a new actor
// takes the name when one is wanted.
func (s *host) onChildGone(who *actor.PID) {
	for name, k := range s.kids {
		if k.pid.Equal(who) {
			delete(s.kids, name)
			s.h.census.giveBack(k.kind.Name, k.berth) // if it died before it heard that it was wanted
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
	s.dropPending(func(scheduler.Line) bool { return true }, "")
	for _, k := range s.kids {
		if !k.state.Live() {
			continue
		}
		if m.all || k.state == scheduler.Busy {
			c.Send(k.pid, &kill{scheduler.OrderShutdown})
		} else if !k.leaving {
			c.Send(k.pid, &free{scheduler.OrderShutdown})
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
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.dropPending(func(scheduler.Line) bool { return true }, "")
}
