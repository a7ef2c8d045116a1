package lock

import (
	"cmp"
	"maps"
	"math"
)

// limit lets no more jobs of a type run at once than it may. Groups of a type without
// room are parked, and one goes on when one of the type may: a look at all of them in
// each pass would make a forecast of thousands grow with their square.
func (b *backlog) limit(most map[string]int, pending []Job, running []RunningJob) {
	if len(most) == 0 {
		return
	}
	b.byType, b.parked = map[string]int{}, map[string]*heap[place]{}
	for _, j := range pending {
		b.byType[j.Type] = math.MaxInt32
	}
	maps.Copy(b.byType, most)
	for _, r := range running {
		b.byType[r.Type]--
	}
}

// park keeps a group until there is room for its type.
func (b *backlog) park(g *group) {
	p := b.parked[g.typ]
	if p == nil {
		p = &heap[place]{less: parkedBefore}
		b.parked[g.typ] = p
	}
	p.push(place{g, g.first(), g.stamp})
}

// parkedBefore is the order but for weights: those that wait for room are
// weighed when they are looked at.
func parkedBefore(x, y place) bool {
	if x.g.aged != y.g.aged && x.g.priority == y.g.priority {
		return x.g.aged
	}
	if x.g.turning != nil && x.g.turning == y.g.turning && x.g.priority == y.g.priority {
		return turnsBefore(x.first, y.first)
	}
	return cmp.Or(cmp.Compare(x.g.priority, y.g.priority), cmp.Compare(x.first.id, y.first.id)) < 0
}

// unpark has one more of a type looked at, if there is room for it.
func (b *backlog) unpark(typ string) bool {
	p := b.parked[typ]
	for p != nil && b.byType[typ] > 0 && len(p.list) > 0 {
		switch at := p.pop(); {
		case at.stamp != at.g.stamp: // it is looked at already: another is to be looked at in its place
		case at.g.first() != nil:
			b.enqueue(at.g)
			return true
		default:
			b.drop(at.g)
		}
	}
	return false
}
