package lock

import (
	"slices"
	"time"

	"bellhop/scheduler/fair"
)

// waiting is a job that waits, and where the backlog keeps it.
type waiting struct {
	id       ID
	at       int // of a simulation: its place
	set      Set
	setKey   string
	typ      string
	priority int // as submitted
	since    time.Time
	place    ID        // what orders it among equals: its id, or another's with which it has exchanged it (takeTurns)
	now      int       // its priority now
	aged     bool      // it weighs nothing
	in       *group    // nil: it waits no more
	job      *Job      // for limits; nil in a simulation
	turning  *turning  // in a simulation, where the keys of its line take turns and it has locks; nil: none
	turn     fair.Turn // its turn there, as far as it was known when the job came
	share    string
}

// key says which jobs stand or fall together: what forbids one forbids all.
type key struct {
	priority int
	aged     bool
	set, typ string
	turning  *turning
	share    string
}

// group is jobs of one key. Only its first is ever looked at: where that may not
// start, none may.
type group struct {
	key
	jobs   heap[*waiting]
	lane   *lane
	behind *queue // groups that wait for the same lock, after this one; nil: none
	stamp  int    // of its place in a lane; an older place is void
}

// first is the group's first job; nil: there is none.
func (g *group) first() *waiting {
	for len(g.jobs.list) > 0 && g.jobs.list[0].in != g {
		g.jobs.pop() // it went elsewhere
	}
	if len(g.jobs.list) == 0 {
		return nil
	}
	return g.jobs.list[0]
}

// backlog is the whole choice, kept from pass to pass. What a lock keeps from
// starting is set aside under the job that stands in its way, and is looked at
// again when that job has ended: a pass costs what may start, and not what waits.
type backlog struct {
	Policy
	now      time.Time
	running  *Index
	changes  int      // how often running has changed, from 1 on
	classes  []*class // by priority
	groups   map[key]*group
	aside    map[ID][]*queue         // by the job in their way
	reserved map[int]*Index          // aged jobs, by priority
	urgent   []int                   // the priorities of reserved, in order
	byType   map[string]int          // free slots of a type; nil: only the sum counts
	each     map[string]int          // slots that a job of a type takes; not there: one
	parked   map[string]*heap[place] // groups of types without a free slot; nil: the next pass looks at all of them again
	// holds asks filters and limits about a job whose turn it is; nil: there are none.
	holds func(*waiting) bool
}

func newBacklog(p Policy, now time.Time) *backlog {
	if p.Order == "" {
		p.Order = Predictive
	}
	return &backlog{Policy: p, now: now, running: NewIndex(), changes: 1, groups: map[key]*group{},
		aside: map[ID][]*queue{}, reserved: map[int]*Index{}}
}

// rank sets a job's priority and whether it is aged, and says whether that changed.
func (b *backlog) rank(w *waiting) bool {
	waited := b.now.Sub(w.since)
	priority, aged := b.Constants.Priority(w.priority, waited), b.Constants.Aged(waited)
	changed := priority != w.now || aged != w.aged
	w.now, w.aged = priority, aged
	return changed
}

// nextRank is when a job's rank changes; false: never.
func (b *backlog) nextRank(w *waiting) (time.Time, bool) {
	waited, next, any := max(0, b.now.Sub(w.since)), time.Duration(0), false
	if h := b.Constants.Horizon(); h > waited {
		next, any = h, true
	}
	if tick := b.Constants.PriorityTick; tick > 0 && w.now > BestPriority {
		if t := (waited/tick + 1) * tick; !any || t < next {
			next, any = t, true
		}
	}
	return w.since.Add(next), any
}

// add puts a job in, or where its new rank puts it.
func (b *backlog) add(w *waiting) {
	b.rank(w)
	b.put(w)
}

func (b *backlog) put(w *waiting) {
	k := key{priority: w.now, aged: w.aged && b.Order.reserves(), set: w.setKey}
	if b.byType != nil {
		k.typ = w.typ
	}
	if !k.aged {
		k.turning, k.share = w.turning, w.share
	}
	g := b.groups[k]
	if g == nil {
		g = &group{key: k, jobs: heap[*waiting]{less: b.order(k)}}
		g.lane = b.lane(g, w.set)
		b.groups[k] = g
	}
	w.in = g
	g.jobs.push(w)
	if k.turning != nil {
		g.lane.seats.push(seat{w.place, w.since})
	}
	if k.aged {
		b.reservedAt(w.now).Add(w.id, w.set)
	}
	if len(g.jobs.list) == 1 || g.jobs.list[0] == w && g.stamp > 0 {
		b.enqueue(g)
	}
}

// again gives a job the rank that it has by now.
func (b *backlog) again(w *waiting) {
	old, wasAged, group := w.now, w.aged, w.in
	if group == nil || !b.rank(w) {
		return
	}
	if wasAged && b.Order.reserves() {
		b.reserved[old].Remove(w.id)
	}
	group.vacate()
	b.put(w)
}

// leave takes a job out.
func (b *backlog) leave(w *waiting) {
	if w.in.aged {
		b.reserved[w.now].Remove(w.id)
	}
	w.in.vacate()
	w.in = nil
}

func (b *backlog) reservedAt(priority int) *Index {
	x := b.reserved[priority]
	if x == nil {
		x = NewIndex()
		b.reserved[priority] = x
		b.urgent = append(b.urgent, priority)
		slices.Sort(b.urgent)
	}
	return x
}

// spv is the static value of the jobs of a lane that nothing known keeps from starting.
func (b *backlog) spv(l *lane) float64 {
	if l.changes == b.changes {
		return l.spv
	}
	l.changes, l.spv = b.changes, b.Constants.Base
	for _, v := range l.profile.Levels {
		if slices.Contains(b.Levels, v.Level) {
			l.spv += b.running.contention(b.Constants, v, false)
		}
	}
	if l.profile.Big {
		l.spv = b.Constants.BigWeight(b.Levels)
	}
	return l.spv
}

// runs tells that a job runs, or has got more locks. Without locks it adds nothing to a weight: ordinary claims take
// most of such jobs, and a pass does not see those. Only Ganeti's rule, played to the letter, counts them.
func (b *backlog) runs(id ID, s Set) {
	if s.Empty() && b.Order != Ganeti {
		return
	}
	b.changes++
	b.running.Add(id, s)
}

// blocker is the job that keeps another from starting: one that runs, or (reserved) one with a reservation that
// comes before it.
func (b *backlog) blocker(w *waiting) (id ID, why Conflict, reserved, is bool) {
	if w.set.Empty() {
		return 0, Conflict{}, false, false
	}
	if id, why, is = b.running.Blocker(w.set); is {
		return id, why, false, true
	}
	for _, priority := range b.urgent {
		x := b.reserved[priority]
		switch {
		case priority > w.now:
			return 0, Conflict{}, false, false
		case priority == w.now && (w.aged || b.Order != Predictive):
			id, why, is = x.blocker(w.set, w.id)
		default:
			id, why, is = x.Blocker(w.set)
		}
		if is {
			return id, why, true, true
		}
	}
	return 0, Conflict{}, false, false
}

// pass chooses up to free jobs, in their order; start is told of each at once.
func (b *backlog) pass(now time.Time, free int, start func(w *waiting, spv float64)) {
	b.now = now
	var noRoom []*group // of types without a free slot: for the next pass
	for i := 0; i < len(b.classes) && free > 0; {
		l, g := b.best(b.classes[i])
		if g == nil {
			i++
			continue
		}
		l.places.pop()
		w := g.first()
		switch id, why, _, blocked := b.blocker(w); {
		case blocked:
			b.setAside(g, id, why.Wants)
			if b.unpark(w.typ) {
				i = 0 // it may be of a class before
			}
			continue
		case b.byType != nil && b.byType[w.typ] <= 0:
			g.stamp++
			if b.parked != nil {
				b.park(g)
			} else {
				noRoom = append(noRoom, g)
			}
			if behind := g.behind; behind != nil { // there may be room for their types
				g.behind = nil
				b.advance(behind)
			}
			continue
		case b.each[w.typ] > free: // what becomes free is kept for it
			g.stamp++
			noRoom, free = append(noRoom, g), 0
			continue
		case b.holds != nil && b.holds(w):
			b.leave(w)
			b.enqueue(g)
			continue
		}
		spv := b.running.Static(b.Constants, w.set, b.Levels)
		b.leave(w)
		b.runs(w.id, w.set)
		if b.byType != nil {
			b.byType[w.typ]--
		}
		free -= max(1, b.each[w.typ])
		start(w, spv)
		b.started(g, w.id)
		b.enqueue(g)
	}
	for _, g := range noRoom {
		b.enqueue(g)
	}
}
