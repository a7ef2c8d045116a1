package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// Backlog is what waits of one type for a host.
type Backlog struct {
	Type TypeName
	Jobs int
	Head int // the priority of the most urgent
}

// Aged is the backlog after it has waited that long without a child: more urgent by one for each step. Only one
// child at a time makes room for it. So no type waits forever because others are never idle.
func (w Backlog) Aged(waited, step time.Duration) Backlog {
	if steps := int(waited / step); steps > 0 {
		w.Head -= steps
		w.Jobs = 1
	}
	return w
}

// Tenant is a child that holds a slot, as seen by a type that waits for the slot.
type Tenant struct {
	Type   TypeName
	Stays  bool // it has no process to lose, comes up, or goes already
	Yields bool // it takes no more lines, so that it may go
	Idle   bool // READY, and nothing is on its way to it
	// More: its type has work, or will have some: jobs wait for this host, or an
	// MSQ job that runs here has rows to come.
	More bool
	// Start is what a process of its type was last seen to take to come up; 0: not known.
	Start time.Duration
}

// Keep is for how long a child that has nothing to do is kept from a job of
// another type that waits for its slot. start is what a process of that type
// takes to come up, most is limits.min_ready.
//
// A child whose type has no work goes at once, always: nothing is lost, since
// nothing would run on it. One whose type has work is kept for no longer than the
// dearer start of the two, so that two types that battle over one slot lose at
// most twice what the best choice in hindsight loses (ski rental).
//
// It looks at waiting work alone. What has happened before says nothing: types
// that take turns on an idle machine must not wait for each other.
func (t Tenant) Keep(start, most time.Duration) time.Duration {
	if !t.More {
		return 0
	}
	return min(max(t.Start, start), most)
}

// Yield says which children of a full host take no more lines, so that the kill
// rules let them go: for each job that waits one child of another type of which
// nothing as urgent waits. could is how many more children of a type may come
// up, slots aside. to names the type that each of them makes room for, "" for
// none: a child that has nothing to do goes before one that has. made are the
// types for whose jobs there are enough of them.
//
// Without it a type that is never idle would keep its slots, however urgent the
// jobs of others are.
//
// keep says for how long a tenant with nothing to do is kept from a type: among
// those, the one that is kept for the shortest time is chosen first.
func Yield(
	tenants []Tenant, waiting []Backlog, could map[TypeName]int, keep func(Tenant, TypeName) time.Duration,
) (to, made []TypeName) {
	to = make([]TypeName, len(tenants))
	const nothing = 20 // worse than any priority
	best := map[TypeName]int{}
	for _, w := range waiting {
		best[w.Type] = w.Head
	}
	of := func(t TypeName) int {
		if p, waits := best[t]; waits {
			return p
		}
		return nothing
	}
	idle := func(t Tenant) bool { return t.Idle && of(t.Type) == nothing }
	before := func(a, b Tenant, whom TypeName) bool {
		if idle(a) != idle(b) {
			return idle(a)
		}
		if idle(a) && keep(a, whom) != keep(b, whom) {
			return keep(a, whom) < keep(b, whom)
		}
		if a.Yields != b.Yields {
			return a.Yields
		}
		return of(a.Type) > of(b.Type)
	}
	order := slices.Clone(waiting)
	slices.SortStableFunc(order, func(a, b Backlog) int { return cmp.Compare(a.Head, b.Head) })
	for _, w := range order {
		need := min(w.Jobs, could[w.Type])
		if need <= 0 {
			continue
		}
		for need > 0 {
			chosen := -1
			for i, t := range tenants {
				if to[i] != "" || t.Stays || t.Type == w.Type || of(t.Type) <= w.Head {
					continue
				}
				if chosen < 0 || before(t, tenants[chosen], w.Type) {
					chosen = i
				}
			}
			if chosen < 0 {
				break
			}
			to[chosen] = w.Type
			need--
		}
		if need == 0 {
			made = append(made, w.Type)
		}
	}
	return to, made
}

// Gauge is how many jobs of a type are in a state, and for ready ones how old
// the oldest is, in seconds; nil: not known.
type Gauge struct {
	State  JobState
	Type   TypeName
	N      int64 // 100,000 are counted at most
	Oldest *float64
}
