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

// Aged is the backlog when it has waited for so long and has no child yet: more
// urgent by one for each step. For that, one child at a time makes room: nobody
// waits for ever because others are never idle.
func (w Backlog) Aged(waited, step time.Duration) Backlog {
	if steps := int(waited / step); steps > 0 {
		w.Head -= steps
		w.Jobs = 1
	}
	return w
}

// Tenant is a child that holds a slot, as whoever waits for the slot sees it.
type Tenant struct {
	Type   TypeName
	Stays  bool // it has no process to lose, comes up, or goes already
	Yields bool // it takes no more lines, so that it may go
	Idle   bool // READY, and nothing is on its way to it
	// More: its type has work, or will have some: jobs wait for this host, or an
	// MSQ job that runs here has rows to come.
	More bool
	Up   time.Time // when it came up
	Gave time.Time // when a child of its type was last told to make room on this host; zero: never
}

// Spare reports whether a child makes room as soon as it has nothing to do,
// however short it has been READY: its own type has no work, so that nobody
// starts it anew. Two types whose work comes in turns would still start and kill
// each other's children over one slot. So the child goes by min_ready after all
// when the type that waits has itself made room less than min_ready ago (gave),
// or had when the child came up; and when the child came up less than min_ready
// after one of its own type had made room.
func (t Tenant) Spare(gave time.Time, minReady time.Duration, now time.Time) bool {
	soon := func(at, after time.Time) bool {
		return !after.IsZero() && !at.Before(after) && at.Sub(after) < minReady
	}
	return !t.More && !soon(now, gave) && !soon(t.Up, gave) && !soon(t.Up, t.Gave)
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
// spare says of a tenant whether it goes at once for a type: among those that
// have nothing to do, such a one is chosen first.
func Yield(
	tenants []Tenant, waiting []Backlog, could map[TypeName]int, spare func(Tenant, TypeName) bool,
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
		if idle(a) && spare(a, whom) != spare(b, whom) {
			return spare(a, whom)
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
