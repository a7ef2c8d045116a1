package lock

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// place is a group in a lane, under the job that was its first.
type place struct {
	g     *group
	first *waiting
	stamp int
}

// lane is groups in order. All jobs of a lane have the same weight but for their age.
type lane struct {
	profile Set // of whose kinds all its jobs are
	places  *heap[place]
	spv     float64 // beside what ran after as many changes
	changes int
	before  func(x, y place) bool // the order of those that wait for the same lock

	// If the keys of shares take turns in it: places are those of the key whose turn it is.
	turning *turning
	keys    turnstile[heap[place]]
	seats   heap[seat] // what the jobs have among those of other lanes; the next start takes the first
}

// seat is what orders a job among equals, where another job may take it.
type seat struct {
	place ID
	since time.Time
}

// class is the jobs of one priority.
type class struct {
	priority int
	byID     lane // aged jobs, or all where nothing is weighed and no keys take turns
	weighed  []*lane
	profiles map[laneKey]*lane
}

type laneKey struct {
	profile string
	turning *turning
}

// order is that of jobs of one static value: by place, or, where it is weighed how
// long they wait, the oldest first.
func (b *backlog) order(k key) func(x, y *waiting) bool {
	byID := func(x, y *waiting) bool { return x.place < y.place }
	if k.aged || k.turning != nil || b.Order != Predictive || b.Constants.Horizon() == 0 {
		return byID
	}
	return func(x, y *waiting) bool {
		if x.since.Equal(y.since) || !x.since.Before(b.now) && !y.since.Before(b.now) { // of the future, all weigh the same
			return byID(x, y)
		}
		return x.since.Before(y.since)
	}
}

func (b *backlog) lane(g *group, set Set) *lane {
	byPriority := func(c *class, p int) int { return cmp.Compare(c.priority, p) }
	i, there := slices.BinarySearchFunc(b.classes, g.priority, byPriority)
	if !there {
		b.classes = slices.Insert(b.classes, i, &class{priority: g.priority,
			byID: b.newLane(Set{}, key{aged: true}), profiles: map[laneKey]*lane{}})
	}
	c := b.classes[i]
	k := laneKey{turning: g.turning}
	switch {
	case g.aged || b.Order != Predictive && g.turning == nil:
		return &c.byID
	case b.Order == Predictive:
		k.profile = profile(set)
	}
	l := c.profiles[k]
	if l == nil {
		made := b.newLane(set, g.key)
		l = &made
		c.profiles[k], c.weighed = l, append(c.weighed, l)
	}
	return l
}

func (b *backlog) newLane(set Set, k key) lane {
	before := b.order(k)
	l := lane{profile: set, turning: k.turning, before: func(x, y place) bool { return before(x.first, y.first) }}
	l.places = &heap[place]{less: l.before}
	if l.turning != nil {
		l.before = func(x, y place) bool { return turnsBefore(x.first, y.first) }
		l.seats.less = func(x, y seat) bool { return x.place < y.place }
	}
	return l
}

// push puts a group into the lane.
func (l *lane) push(p place) {
	if l.turning == nil {
		l.places.push(p)
		return
	}
	empty := heap[place]{less: func(x, y place) bool { return x.first.place < y.first.place }}
	l.keys.of(p.g.share, &l.turning.Turns, empty).has.push(p)
}

// any finds the places of the key whose turn it is; false: the lane is empty.
func (l *lane) any() bool {
	if l.turning != nil {
		k := l.keys.first(&l.turning.Turns, func(places *heap[place]) bool { return len(places.list) > 0 })
		if k == nil {
			return false
		}
		l.places = &k.has
	}
	return len(l.places.list) > 0
}

// profile is the kinds of a set, level by level: jobs of one profile that nothing
// known keeps from starting have the same static value.
func profile(s Set) string {
	if s.Big {
		return Big
	}
	var text strings.Builder
	for _, v := range s.Levels {
		text.WriteString(v.Level)
		text.WriteByte(':')
		text.WriteByte('0' + byte(v.kinds()))
	}
	return text.String()
}

// head is the lane's first group, with its first job; nil: the lane is empty.
func (b *backlog) head(l *lane) *group {
	for l.any() {
		p := l.places.list[0]
		if p.stamp == p.g.stamp && p.g.first() == p.first && p.first != nil {
			return p.g
		}
		l.places.pop()
		if p.stamp == p.g.stamp {
			b.enqueue(p.g) // another is its first now
		}
	}
	return nil
}

// seat is what orders a lane's first group among those of other lanes.
func (l *lane) seat(g *group) seat {
	if l.turning != nil {
		return l.seats.list[0]
	}
	return seat{g.first().place, g.first().since}
}

// vacate tells that a job of the group starts, or goes elsewhere.
func (g *group) vacate() {
	if g.turning != nil {
		g.lane.seats.pop()
	}
}

// best is the group whose first job is next in a class, with its lane; nil: none.
func (b *backlog) best(c *class) (*lane, *group) {
	bestLane, bestGroup := &c.byID, b.head(&c.byID)
	if bestGroup != nil && b.Order == Predictive {
		return bestLane, bestGroup // an aged job weighs nothing
	}
	var least float64
	var first seat
	if bestGroup != nil {
		first = bestLane.seat(bestGroup)
	}
	for _, l := range c.weighed {
		g := b.head(l)
		if g == nil {
			continue
		}
		s, weight := l.seat(g), 0.0
		if b.Order == Predictive {
			weight = b.spv(l) * b.Constants.Factor(b.now.Sub(s.since))
		}
		if bestGroup == nil || weight < least || weight == least && s.place < first.place {
			bestLane, bestGroup, least, first = l, g, weight, s
		}
	}
	return bestLane, bestGroup
}
