package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Terms are what a host asks of a type before it takes its jobs.
type Terms struct {
	Far  bool       // the host is not its instance's own machine
	Only []TypeName // the types that it takes; empty: every one
	Room int        // its slots; 0: they are not told, or there are none for now
	Has  Resources  // what it has besides slots
}

// Refuses says why the host takes no job of a type; empty: it takes them. local: the type's agent stays on its
// instance's own machine. Others read the answer in bellhop.agent: SQL does not decide this a second time.
func (t Terms) Refuses(typ TypeName, local bool, takes Takes) string {
	switch {
	case local && t.Far:
		return "is not its instance's own machine, and the agent is local: true"
	case len(t.Only) > 0 && !slices.Contains(t.Only, typ):
		only := make([]string, len(t.Only))
		for i, one := range t.Only {
			only[i] = string(one)
		}
		return "takes only " + strings.Join(only, ", ") + " (only_types)"
	}
	if t.Room > 0 && takes.Slots() > t.Room {
		return fmt.Sprintf("has %d slots, and a child takes %d (slots)", t.Room, takes.Slots())
	}
	for _, name := range takes.Of.Names() {
		if takes.Of[name] > t.Has[name] {
			return fmt.Sprintf("has %d of %s, and a child takes %d (resources)", t.Has[name], name, takes.Of[name])
		}
	}
	return ""
}

// Bounds is what limits how many more children of a type may come up on a
// host, slots aside.
type Bounds struct {
	Live    int // children of the type there
	Up      int // of these, the ones that have come up
	PerHost int // of the type on one host; 0: no limit
	Max     int // of the type in all; 0: no limit
	Part    int // of Max, on this instance
	All     int // of the type on this instance
	Respawn int // how many more may come up after its deaths
	InARow  int // deaths that no finished line has followed
	// What a child takes, what the host has besides slots, and what is reserved for types that wait for more of it.
	Takes    Takes
	Stocks   []Stock
	Reserves Reserves
}

// More is how many more children of the type may come up, slots and resources aside.
func (b Bounds) More() int {
	more := b.Respawn
	if b.Max > 0 {
		more = min(more, b.Part-b.All)
	}
	if b.PerHost > 0 {
		more = min(more, b.PerHost-b.Live)
	}
	return max(0, more)
}

// Hit is the bound that keeps another child from coming up on a host, full or not, as a code of bellhop.causes, a colon
// and words; empty: none does. died is why the last child died. A host tells it with each heartbeat, and
// bellhop.hindrance reads it. It is empty exactly while a host has More, and room for it.
func (b Bounds) Hit(typ TypeName, host HostName, slots Slots, died string) string {
	switch {
	case b.Respawn <= 0 && b.Up == 0 && b.InARow > 0:
		return "agent_fails: " + Respawn{InARow: b.InARow}.LastWords(died)
	case slots.Full():
		return slots.told(host)
	case b.Max > 0 && b.All >= b.Part && b.Part == b.Max:
		return fmt.Sprintf("no_room: max is %d, and there are %d", b.Max, b.All)
	case b.Max > 0 && b.All >= b.Part:
		return fmt.Sprintf("no_room: max is %d, and the part of the instance of %s is %d", b.Max, host, b.Part)
	case b.PerHost > 0 && b.Live >= b.PerHost:
		return fmt.Sprintf("no_room: max_per_host is %d, and %s has %d", b.PerHost, host, b.Live)
	case b.Respawn <= 0:
		return fmt.Sprintf("child_starting: another on %s", host)
	}
	return b.lacks(typ, host, slots)
}

// lacks says which resource keeps a child from coming up; empty: none does.
func (b Bounds) lacks(typ TypeName, host HostName, slots Slots) string {
	if whom, what := b.Reserves.For(typ, b.Takes); whom != "" {
		return fmt.Sprintf("no_room/resource: %s keeps its %s for a child of %s", host, cmp.Or(what, "slots"), whom)
	}
	if slots.All-slots.Taken < b.Takes.Slots() {
		return fmt.Sprintf("%s, and a child of %s takes %d", slots.told(host), typ, b.Takes.Slots())
	}
	if s, lacks := b.Takes.Lacks(b.Stocks); lacks {
		return fmt.Sprintf("no_room/resource: %s, and a child of %s takes %d", s.told(host, s.Name), typ, b.Takes.Of[s.Name])
	}
	return ""
}

// HostBounds are what a host tells of the bounds that its types have hit: by type, and under no name what holds for
// each type that is not named. Empty words: nothing keeps jobs of the type from starting.
type HostBounds map[TypeName]string

// AllBounds are those of an instance's hosts.
type AllBounds map[HostName]HostBounds

// BoundsOf begins the bounds of a host: none, or that it is full.
func BoundsOf(host HostName, slots Slots) HostBounds {
	if slots.Full() {
		return HostBounds{"": slots.told(host)}
	}
	return HostBounds{}
}

// Note adds what a type has hit.
func (h HostBounds) Note(typ TypeName, hit string) {
	if hit != h[""] {
		h[typ] = hit
	}
}
