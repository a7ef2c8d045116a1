package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// MostWeight is the largest weight of a type; the least is 1.
const MostWeight = 100

// Fairness divides the slots of a host between types whose waiting jobs are equally urgent: start-time fair queueing,
// in time of slots. The zero value has seen nothing wait.
//
// The virtual time of a type grows by the time for which its children hold slots, divided by the type's weight. It
// does so only while something waits on the host. The type with the least virtual time is next. A type without
// waiting jobs saves up nothing: it goes on at the floor, the least virtual time of those that wait.
type Fairness struct {
	weights map[TypeName]int
	had     map[TypeName]time.Duration // virtual times
	waits   map[TypeName]bool          // at the last look
	woke    map[TypeName]bool          // waits for its first slot, and had owed nothing when it began to wait
	floor   time.Duration
	quantum time.Duration
}

// Contender is what a type has of a host's slots, and wants.
type Contender struct {
	Type   TypeName
	Weight int
	Slots  int  // that its children hold
	Waits  bool // jobs wait
	More   bool // another child of it could come up, slots aside
}

// Quantum is how much time of slots a type must have had too little of, before a child of another type makes room for
// it: so much that starts of processes take a small part of the time, and at most limits.min_ready. start is the
// longest that a process takes to come up.
func Quantum(start, most time.Duration) time.Duration {
	return max(time.Second, min(4*start, most))
}

// Look takes what all types of the host have and want now.
func (f *Fairness) Look(all []Contender, quantum time.Duration) {
	f.quantum = quantum
	if !slices.ContainsFunc(all, func(c Contender) bool { return c.Waits }) {
		*f = Fairness{}
		return
	}
	if f.had == nil {
		f.weights, f.had = map[TypeName]int{}, map[TypeName]time.Duration{}
		f.waits, f.woke = map[TypeName]bool{}, map[TypeName]bool{}
	}
	f.floor = max(f.floor, f.least(all))
	for _, c := range all {
		f.weights[c.Type] = max(1, c.Weight)
		contends := c.Waits && (f.waits[c.Type] || c.Slots > 0)
		switch {
		case c.Slots > 0 || !c.Waits:
			f.woke[c.Type] = false
		case !contends:
			f.woke[c.Type] = f.had[c.Type] <= f.floor
		}
		if !contends || !c.More { // one that is at its max could not use what it has not had
			f.had[c.Type] = max(f.had[c.Type], f.floor)
		}
		f.waits[c.Type] = c.Waits
	}
}

// least is the least virtual time of the types that have been waiting: of those that could take more slots, or else
// the greatest of the others.
func (f *Fairness) least(all []Contender) time.Duration {
	var least, most time.Duration
	some := false
	for _, c := range all {
		had := f.had[c.Type]
		switch {
		case !c.Waits || !f.waits[c.Type] && c.Slots == 0:
		case !c.More:
			most = max(most, had)
		case !some || had < least:
			least, some = had, true
		}
	}
	if some {
		return least
	}
	return most
}

// Serve notes that n children of a type have held slots for so long. The type has had its first slot then, though no
// look may have seen it there. Otherwise it would be first in the order for ever. Its turns would come from processes
// that run one line, and a type that keeps its processes would never make room.
func (f *Fairness) Serve(t TypeName, n int, held time.Duration) {
	if f.had != nil && n > 0 && held > 0 {
		f.had[t] += time.Duration(n) * held / time.Duration(f.weight(t))
		f.woke[t] = false
	}
}

func (f *Fairness) weight(t TypeName) int { return max(1, f.weights[t]) }

// Due reports whether a slot of one type shall go to another type with a job as urgent: if that has fewer slots by its
// weight, and waits for its first one, or is behind by a quantum. slots are what the types have.
func (f *Fairness) Due(to, from TypeName, slots map[TypeName]int) bool {
	switch {
	case f == nil || f.had == nil || !f.waits[to]:
		return false
	case slots[to]*f.weight(from) >= slots[from]*f.weight(to):
		return false
	case f.woke[to]:
		return true
	}
	return (f.had[from]-f.had[to])*time.Duration(f.weight(to)) >= f.quantum
}

// Had is a type's virtual time.
func (f *Fairness) Had(t TypeName) time.Duration {
	if f == nil {
		return 0
	}
	return f.had[t]
}

// Claimant is a type that waits for a slot which is free.
type Claimant struct {
	Type TypeName
	Head int           // the priority of its most urgent job
	At   time.Duration // of those as urgent the one with the least of this is next
	Line time.Duration // what a start of it adds to At
}

// Claimants is the order in which types get free slots. line is what a line of a type takes. A type of which a
// process has to come up (warm) gets another slot once it is behind by a quantum.
func (f *Fairness) Claimants(
	waiting []Backlog, warm map[TypeName]bool, line func(TypeName) time.Duration,
) (list []Claimant) {
	if f == nil || f.had == nil || len(waiting) < 2 {
		return nil
	}
	for _, w := range waiting {
		weight := time.Duration(f.weight(w.Type))
		c := Claimant{Type: w.Type, Head: w.Head, At: f.had[w.Type], Line: max(time.Millisecond, line(w.Type)) / weight}
		switch {
		case f.woke[w.Type]:
			c.At-- // before its equals
		case warm[w.Type]:
			c.At += f.quantum / weight
		}
		list = append(list, c)
	}
	SortClaimants(list)
	return list
}

// SortClaimants puts those first that are next.
func SortClaimants(list []Claimant) {
	slices.SortStableFunc(list, func(a, b Claimant) int {
		return cmp.Or(cmp.Compare(a.Head, b.Head), cmp.Compare(a.At, b.At), cmp.Compare(a.Type, b.Type))
	})
}
