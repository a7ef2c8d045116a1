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
	Exec   bool // of these, it has no process to lose: each line's end frees its slot for any type
	Coming bool // of these, it comes up
	Yields bool // it takes no more lines, so that it may go
	Slow   bool // of these, it has not got to the end of its line for a while
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

// Yield says which children of a full host take no more lines, so that the kill rules let them go.
type Yield struct {
	Tenants []Tenant
	Waiting []Backlog
	Could   map[TypeName]int // how many more children of a type may come up, slots aside
	// Keep is for how long a tenant with nothing to do is kept from a type: among those, the one that is kept for the
	// shortest time is chosen first.
	Keep func(Tenant, TypeName) time.Duration
	// Fair divides the slots between types whose jobs are equally urgent; nil: none yields to its equals.
	Fair  *Fairness
	Freed []TypeName // types for which room was made
	Free  int        // slots that are free already
	slots map[TypeName]int
	best  map[TypeName]int
}

// Decide says for each tenant the type that it makes room for, "" for none: for each job that waits one child of
// another type of which nothing as urgent waits. A child that has nothing to do goes before one that has. made are the
// types for whose jobs there are enough of them.
//
// Without it a type that is never idle would keep its slots, however urgent the jobs of others are.
//
// Between types whose jobs are equally urgent it is Fair that decides. Then one child at a time makes room for a type.
func (y *Yield) Decide() (to, made []TypeName) {
	to = make([]TypeName, len(y.Tenants))
	y.slots, y.best = map[TypeName]int{}, map[TypeName]int{}
	coming := map[TypeName]bool{}
	for _, w := range y.Waiting {
		y.best[w.Type] = w.Head
	}
	for _, t := range y.Tenants {
		if t.Holds() {
			y.slots[t.Type]++
		}
		coming[t.Type] = coming[t.Type] || t.Coming
	}
	order := slices.Clone(y.Waiting)
	slices.SortStableFunc(order, func(a, b Backlog) int {
		return cmp.Or(cmp.Compare(a.Head, b.Head), cmp.Compare(y.Fair.Had(a.Type), y.Fair.Had(b.Type)))
	})
	for _, w := range order {
		need, slow := min(w.Jobs, y.Could[w.Type]), 0
		if need <= 0 {
			continue
		}
		freed := 0
		if slices.Contains(y.Freed, w.Type) {
			freed = min(need, y.Free)
			need, y.Free = need-freed, y.Free-freed
		}
		turn := freed == 0 && !coming[w.Type] && !y.byLine(w)
		for need > 0 {
			chosen := y.choose(w, to, turn)
			if chosen < 0 {
				break
			}
			t := y.Tenants[chosen]
			to[chosen] = w.Type
			if y.head(t.Type) == w.Head {
				need = 1
			}
			if t.Slow { // another one may get to the end of its line sooner
				slow++
				continue
			}
			y.slots[t.Type]--
			y.slots[w.Type]++
			need--
		}
		if need <= slow {
			made = append(made, w.Type)
		}
	}
	return to, made
}

// Holds reports whether it holds a slot that no other type can have before it is done.
func (t Tenant) Holds() bool { return !t.Exec || !t.Idle }

// head is the priority of the most urgent job that waits of a type.
func (y *Yield) head(t TypeName) int {
	const nothing = 20 // worse than any priority
	if p, waits := y.best[t]; waits {
		return p
	}
	return nothing
}

// may reports whether a type's children yield to another; turn: to their equals, too.
func (y *Yield) may(from TypeName, w Backlog, turn bool) bool {
	head := y.head(from)
	return from != w.Type && (head > w.Head || turn && head == w.Head && y.Fair.Due(w.Type, from, y.slots))
}

// byLine reports whether a type gets its turn as soon as a process of another type, one for each line, is over.
func (y *Yield) byLine(w Backlog) bool {
	return slices.ContainsFunc(y.Tenants, func(t Tenant) bool {
		return t.Exec && y.head(t.Type) == w.Head && y.may(t.Type, w, true)
	})
}

// choose picks the next tenant that yields to a type; −1: none does.
func (y *Yield) choose(w Backlog, to []TypeName, turn bool) int {
	chosen := -1
	for i, t := range y.Tenants {
		if to[i] != "" || t.Stays || !y.may(t.Type, w, turn) {
			continue
		}
		if chosen < 0 || y.before(t, y.Tenants[chosen], w.Type) {
			chosen = i
		}
	}
	return chosen
}

// before reports whether one tenant yields before another.
func (y *Yield) before(a, b Tenant, whom TypeName) bool {
	idle := func(t Tenant) bool { _, waits := y.best[t.Type]; return t.Idle && !waits }
	if idle(a) != idle(b) {
		return idle(a)
	}
	if idle(a) && y.Keep(a, whom) != y.Keep(b, whom) {
		return y.Keep(a, whom) < y.Keep(b, whom)
	}
	if a.Yields != b.Yields {
		return a.Yields
	}
	if y.head(a.Type) != y.head(b.Type) {
		return y.head(a.Type) > y.head(b.Type)
	}
	return y.Fair.Had(a.Type) > y.Fair.Had(b.Type)
}

// Gauge is how many jobs of a type are in a state, and for ready ones how old
// the oldest is, in seconds; nil: not known.
type Gauge struct {
	State  JobState
	Type   TypeName
	N      int64 // 100,000 are counted at most
	Oldest *float64
}
