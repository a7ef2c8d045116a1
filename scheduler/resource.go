package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Resources are amounts of named resources, such as gpu: 2. A host has them, and its children hold them as long as they
// hold their slots.
type Resources map[string]int

// Names lists them in order.
func (r Resources) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Takes is what a child of a type holds of its host.
type Takes struct {
	Each int // slots; 0: one
	Of   Resources
}

// Plain reports that it is a slot, and nothing else.
func (t Takes) Plain() bool { return t.Each <= 1 && len(t.Of) == 0 }

// Slots is how many slots it holds.
func (t Takes) Slots() int { return max(1, t.Each) }

// Amount is how much it holds of a resource; of none: of slots.
func (t Takes) Amount(name string) int {
	if name == "" {
		return t.Slots()
	}
	return t.Of[name]
}

// Within is how many such children have room in so much.
func (t Takes) Within(slots int, left Resources) int {
	n := slots
	if each := t.Slots(); each > 1 {
		n /= each
	}
	for name, each := range t.Of {
		n = min(n, left[name]/each)
	}
	return n
}

// Stock is what a host has of one resource.
type Stock struct {
	Name     string
	All      int              // of the host
	Taken    int              // by children, those coming up and going included
	Freeable int              // of these, by children that may go to make room
	Short    int              // what children will hold that lines which were dealt already still need
	By       map[TypeName]int // whose the taken ones are, for a reader
}

// Left is what no child holds.
func (s Stock) Left() int { return s.All - s.Taken }

// Ask is how much may be asked for; own: what children of the type itself hold that may go.
func (s Stock) Ask(own int) int { return max(0, s.All-s.Taken+s.Freeable-own-s.Short) }

// Lacks names the first resource of which too little is left for a child; none, and false: it finds enough. A host that
// has less than its children hold, after a reload, lacks nothing for a child that takes none of it.
func (t Takes) Lacks(stocks []Stock) (s Stock, lacks bool) {
	for _, s := range stocks {
		if each := t.Of[s.Name]; each > 0 && s.Left() < each {
			return s, true
		}
	}
	return Stock{}, false
}

// told says how much of it is taken, and by which types.
func (s Stock) told(host HostName, what string) string {
	says := fmt.Sprintf("%s has %d of %d %s taken", host, s.Taken, s.All, what)
	types := slices.SortedFunc(maps.Keys(s.By), func(a, b TypeName) int {
		return cmp.Or(cmp.Compare(s.By[b], s.By[a]), cmp.Compare(a, b))
	})
	sep := ": "
	for _, t := range types[:min(len(types), toldTypes)] {
		says += fmt.Sprintf("%s%d by %s", sep, s.By[t], t)
		sep = ", "
	}
	return says
}

// Reserves are the types that may take of a resource what becomes free: one that waits for more of it than is left, and
// those before it in the order of what waits. By resource; without a name: of slots.
type Reserves map[string][]TypeName

// For names the type for which something is reserved that another one takes; empty: there is none.
func (k Reserves) For(t TypeName, takes Takes) (whom TypeName, what string) {
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if may := k[name]; takes.Amount(name) > 0 && !slices.Contains(may, t) {
			return may[len(may)-1], name
		}
	}
	return "", ""
}
