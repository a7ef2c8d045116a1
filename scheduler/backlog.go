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
	Takes Takes // what it holds
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
	// Takes is what children of the types that wait take; not there: a slot. Stocks are what the host has besides slots.
	Takes  map[TypeName]Takes
	Stocks []Stock
	// Reserves is what Decide keeps for types that lack more of a resource than becomes free at once.
	Reserves Reserves
	slots    map[TypeName]int
	best     map[TypeName]int
}

// lack is a resource that keeps children of a type from coming up; without a name: slots.
type lack struct {
	name string
	each int // what a child takes of it
}

func (y *Yield) lack(t TypeName) lack {
	takes := y.Takes[t]
	if s, lacks := takes.Lacks(y.Stocks); lacks {
		return lack{s.Name, takes.Of[s.Name]}
	}
	return lack{"", takes.Slots()}
}

// left is what is free of it, and use takes some of that for a type.
func (y *Yield) left(l lack) int {
	if l.name == "" {
		return y.Free
	}
	return y.Stocks[slices.IndexFunc(y.Stocks, func(s Stock) bool { return s.Name == l.name })].Left()
}

func (y *Yield) use(l lack, n int) {
	if l.name == "" {
		y.Free -= n
		return
	}
	y.Stocks[slices.IndexFunc(y.Stocks, func(s Stock) bool { return s.Name == l.name })].Taken += n
}

// keep keeps what becomes free of a resource for the n-th of the types that wait, and for those before it: otherwise
// types that take less of it could start for ever, and never leave enough.
func (y *Yield) keep(order []Backlog, n int, l lack) {
	if l.name == "" && l.each == 1 || y.Reserves[l.name] != nil || y.left(l) >= l.each {
		return
	}
	if y.Reserves == nil {
		y.Reserves = Reserves{}
	}
	for _, w := range order[:n+1] {
		y.Reserves[l.name] = append(y.Reserves[l.name], w.Type)
	}
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
			y.slots[t.Type] += t.Takes.Slots()
		}
		coming[t.Type] = coming[t.Type] || t.Coming
	}
	order := slices.Clone(y.Waiting)
	slices.SortStableFunc(order, func(a, b Backlog) int {
		return cmp.Or(cmp.Compare(a.Head, b.Head), cmp.Compare(y.Fair.Had(a.Type), y.Fair.Had(b.Type)))
	})
	for i, w := range order {
		if jobs := min(w.Jobs, y.Could[w.Type]); jobs > 0 {
			l := y.lack(w.Type)
			y.keep(order, i, l)
			if y.makeRoom(w, l, jobs*l.each, to, coming[w.Type]) && l.name == "" {
				made = append(made, w.Type)
			}
		}
	}
	return to, made
}

// makeRoom chooses the children that leave a type so much of what it lacks; false: too little of it is found.
func (y *Yield) makeRoom(w Backlog, l lack, need int, to []TypeName, coming bool) bool {
	freed, slow := 0, 0
	if l.name != "" || l.each > 1 || slices.Contains(y.Freed, w.Type) {
		freed = min(need, max(0, y.left(l)))
		y.use(l, freed)
		need -= freed
	}
	turn := freed < l.each && !coming && !y.byLine(w, l)
	for need > 0 {
		chosen := y.choose(w, l, to, turn)
		if chosen < 0 {
			break
		}
		t := y.Tenants[chosen]
		to[chosen] = w.Type
		if y.head(t.Type) == w.Head { // one child at a time
			need = min(need, max(1, l.each-freed))
		}
		if t.Slow { // another one may get to the end of its line sooner
			slow += t.Takes.Amount(l.name)
			continue
		}
		y.slots[t.Type] -= t.Takes.Slots()
		y.slots[w.Type] += t.Takes.Slots()
		need -= t.Takes.Amount(l.name)
	}
	return need <= slow
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
func (y *Yield) byLine(w Backlog, l lack) bool {
	return slices.ContainsFunc(y.Tenants, func(t Tenant) bool {
		return t.Exec && t.Takes.Amount(l.name) > 0 && y.head(t.Type) == w.Head && y.may(t.Type, w, true)
	})
}

// choose picks the next tenant that yields to a type; −1: none does.
func (y *Yield) choose(w Backlog, l lack, to []TypeName, turn bool) int {
	chosen := -1
	for i, t := range y.Tenants {
		if to[i] != "" || t.Stays || t.Takes.Amount(l.name) == 0 || !y.may(t.Type, w, turn) {
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
