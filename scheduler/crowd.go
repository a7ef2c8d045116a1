package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// Crowd is what waits of one type for a host.
type Crowd struct {
	Type TypeName
	Jobs int
	Best int // the priority of the most urgent
}

// Aged is the crowd when it has waited for so long and has no child yet: more
// urgent by one for each step. For that, one child at a time makes room: nobody
// waits for ever because others are never idle.
func (w Crowd) Aged(waited, step time.Duration) Crowd {
	if steps := int(waited / step); steps > 0 {
		w.Best -= steps
		w.Jobs = 1
	}
	return w
}

// Tenant is a child that holds a slot, as whoever waits for the slot sees it.
type Tenant struct {
	Type   TypeName
	Stays  bool // it has no process to lose, comes up, or goes already
	Yields bool // it takes no more lines, so that it may go
}

// Yield says which children of a full host take no more lines, so that the kill
// rules let them go: for each job that waits one child of another type of which
// nothing as urgent waits. could is how many more children of a type may come
// up, slots aside. made are the types for whose jobs there are enough of them.
//
// Without it a type that is never idle would keep its slots, however urgent the
// jobs of others are.
func Yield(tenants []Tenant, waiting []Crowd, could map[TypeName]int) (yields []bool, made []TypeName) {
	yields = make([]bool, len(tenants))
	const nothing = 20 // worse than any priority
	best := map[TypeName]int{}
	for _, w := range waiting {
		best[w.Type] = w.Best
	}
	of := func(t TypeName) int {
		if p, waits := best[t]; waits {
			return p
		}
		return nothing
	}
	order := slices.Clone(waiting)
	slices.SortStableFunc(order, func(a, b Crowd) int { return cmp.Compare(a.Best, b.Best) })
	for _, w := range order {
		need := min(w.Jobs, could[w.Type])
		if need <= 0 {
			continue
		}
		for need > 0 {
			chosen := -1
			for i, t := range tenants {
				if yields[i] || t.Stays || t.Type == w.Type || of(t.Type) <= w.Best {
					continue
				}
				if chosen < 0 || t.Yields && !tenants[chosen].Yields || t.Yields == tenants[chosen].Yields && of(t.Type) > of(tenants[chosen].Type) {
					chosen = i
				}
			}
			if chosen < 0 {
				break
			}
			yields[chosen] = true
			need--
		}
		if need == 0 {
			made = append(made, w.Type)
		}
	}
	return yields, made
}
