package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fairType is a type on a fairHost.
type fairType struct {
	weight      int
	line, start time.Duration
	exec        bool
	waits       int           // jobs
	served      time.Duration // time of slots
	starts      int           // of lines
}

// fairChild holds a slot.
type fairChild struct {
	of        TypeName
	coming    bool
	busy      bool
	until     time.Duration // the end of its line, or of its start
	yields    bool
	yieldedAt time.Duration
}

// fairHost is a host in virtual time: children, and what waits for them. It looks at what waits every 100 ms.
type fairHost struct {
	slots    int
	types    map[TypeName]*fairType
	names    []TypeName
	children []*fairChild
	fair     Fairness
	now      time.Duration
	moved    int               // children that went since others had their turn
	heard    map[TypeName]bool // types that waited at the last look
}

const fairTick, fairLook = 10 * time.Millisecond, 100 * time.Millisecond

func newFairHost(slots int) *fairHost {
	return &fairHost{slots: slots, types: map[TypeName]*fairType{}}
}

func (h *fairHost) add(t fairType) TypeName {
	name := TypeName(fmt.Sprintf("t%d", len(h.names)))
	h.names = append(h.names, name)
	h.types[name] = &t
	return name
}

func (h *fairHost) waiting() (list []Backlog) {
	for _, name := range h.names {
		if n := h.types[name].waits; n > 0 {
			list = append(list, Backlog{Type: name, Jobs: n})
		}
	}
	return list
}

// tick lets time pass.
func (h *fairHost) tick() {
	for _, child := range h.children {
		h.types[child.of].served += fairTick
		h.fair.Serve(child.of, 1, fairTick)
	}
	h.now += fairTick
	kept := h.children[:0]
	for _, child := range h.children {
		typ := h.types[child.of]
		switch over := h.now >= child.until; {
		case !over:
			kept = append(kept, child)
		case child.yields && !child.coming:
			h.moved++
		case typ.exec || typ.waits == 0: // its slot is for any type
		default:
			typ.waits--
			typ.starts++
			*child = fairChild{of: child.of, busy: true, until: h.now + typ.line}
			kept = append(kept, child)
		}
	}
	h.children = kept
	h.fill()
	if h.now%fairLook == 0 {
		h.look()
		h.fill()
	}
}

// fill gives free slots to those that wait.
func (h *fairHost) fill() {
	for len(h.children) < h.slots {
		waiting := h.waiting()
		if len(waiting) == 0 {
			return
		}
		next, warm := waiting[0].Type, map[TypeName]bool{}
		for name, typ := range h.types {
			warm[name] = !typ.exec
		}
		if list := h.fair.Claimants(waiting, warm, func(t TypeName) time.Duration { return h.types[t].line }); list != nil {
			next = list[0].Type
			for _, w := range waiting { // one that the host has not heard of is first: intake's turns begin with it
				if !h.heard[w.Type] {
					next = w.Type
				}
			}
		}
		typ := h.types[next]
		child := &fairChild{of: next, coming: !typ.exec, busy: typ.exec, until: h.now + typ.start}
		if typ.exec {
			typ.waits--
			typ.starts++
			child.until += typ.line
		}
		h.children = append(h.children, child)
	}
}

func (h *fairHost) look() {
	y := Yield{Waiting: h.waiting(), Could: map[TypeName]int{}, Fair: &h.fair,
		Keep: func(Tenant, TypeName) time.Duration { return 0 }}
	for _, child := range h.children {
		typ := h.types[child.of]
		y.Tenants = append(y.Tenants, Tenant{Type: child.of, Stays: typ.exec || child.coming, Exec: typ.exec,
			Coming: child.coming, Yields: child.yields, Slow: child.yields && h.now-child.yieldedAt >= SlowExit})
	}
	h.heard = map[TypeName]bool{}
	for _, w := range y.Waiting {
		h.heard[w.Type] = true
	}
	slots, start := map[TypeName]int{}, time.Duration(0)
	for _, child := range h.children {
		slots[child.of]++
	}
	var all []Contender
	for _, name := range h.names {
		typ := h.types[name]
		y.Could[name] = h.slots
		start = max(start, typ.start)
		all = append(all, Contender{Type: name, Weight: typ.weight, Slots: slots[name], Waits: typ.waits > 0, More: true})
	}
	h.fair.Look(all, Quantum(start, 20*time.Second))
	to, _ := y.Decide()
	for i, child := range h.children {
		if yields := to[i] != ""; yields != child.yields {
			child.yields, child.yieldedAt = yields, h.now
		}
	}
}

func drawFairType(t *rapid.T, weight int) fairType {
	ms := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(1, most/10).Draw(t, name)) * fairTick
	}
	typ := fairType{weight: weight, line: ms("line", 2000), exec: rapid.Bool().Draw(t, "exec")}
	if !typ.exec {
		typ.start = ms("start", 500)
	}
	return typ
}

// someNeverRan reports whether one of the first n types has not had a turn.
func (h *fairHost) someNeverRan(n int) bool {
	return slices.ContainsFunc(h.names[:n], func(t TypeName) bool { return h.types[t].starts == 0 })
}

const flood = 1_000_000

// The bound: a type that wakes, and has had no more than its share, waits until each slot has come to the end of its
// line. For a process that is coming up, that is its first line. Then a look and the start of a process follow. What
// the others have waiting does not matter.
func TestFairness_ATypeThatWakesIsNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newFairHost(rapid.IntRange(2, 8).Draw(t, "slots"))
		longest := time.Duration(0)
		for range rapid.IntRange(1, 4).Draw(t, "floods") {
			typ := drawFairType(t, rapid.IntRange(1, 10).Draw(t, "weight"))
			typ.waits = flood
			longest = max(longest, typ.start+typ.line)
			h.add(typ)
		}
		woke := h.types[h.add(drawFairType(t, rapid.IntRange(1, 10).Draw(t, "weight")))]
		for h.someNeverRan(len(h.names) - 1) {
			h.tick()
		}
		for range rapid.IntRange(0, 3000).Draw(t, "before") {
			h.tick()
		}
		woke.waits = rapid.IntRange(1, 3).Draw(t, "jobs")
		began := h.now
		for woke.starts == 0 {
			h.tick()
			if waited := h.now - began; waited > longest+woke.start+2*fairLook+2*fairTick {
				t.Fatalf("it waits for %s; the longest start and line take %s, its own start %s", waited, longest, woke.start)
			}
		}
	})
}

// A type that waits alone has every slot, and none of its children goes.
func TestFairness_ALoneTypeHasAllSlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newFairHost(rapid.IntRange(2, 8).Draw(t, "slots"))
		typ := drawFairType(t, rapid.IntRange(1, 10).Draw(t, "weight"))
		typ.waits = flood
		h.add(typ)
		h.add(drawFairType(t, MostWeight))
		for range 1000 {
			h.tick()
			if len(h.children) != h.slots || h.moved > 0 {
				t.Fatalf("%d of %d slots are its own, and %d children went", len(h.children), h.slots, h.moved)
			}
		}
	})
}

// The weights: types that all have work get time of slots by their weights, whatever their lines take. What one lags
// behind another is bounded, however long that goes on; so the shares come as close as one likes. And no more children
// go than one for each quantum and slot.
func TestFairness_WeightsHoldAndSwitchesAreFew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newFairHost(rapid.IntRange(2, 8).Draw(t, "slots"))
		for range rapid.IntRange(2, 6).Draw(t, "types") {
			typ := drawFairType(t, rapid.IntRange(1, 5).Draw(t, "weight"))
			typ.waits = flood
			h.add(typ)
		}
		h.holds(t)
	})
}

// Two types with a process for each line, in step with the looks: one has six slots at every look, the other none.
func TestFairness_ATypeThatNoLookSeesAtWork(t *testing.T) {
	t.Parallel()
	h := newFairHost(8)
	h.add(fairType{weight: 1, line: fairTick, start: fairTick, waits: flood})
	h.add(fairType{weight: 3, line: fairTick, exec: true, waits: flood})
	h.add(fairType{weight: 2, line: 2 * fairTick, exec: true, waits: flood})
	h.holds(t)
}

// holds runs the host for three minutes, and fails where the last two do not follow the weights.
func (h *fairHost) holds(t rapid.TB) {
	t.Helper()
	var dearest, line time.Duration
	for _, typ := range h.types {
		dearest, line = max(dearest, typ.start), max(line, typ.line)
	}
	quantum := Quantum(dearest, 20*time.Second)
	var began []time.Duration
	const settles, lasts = 60 * time.Second, 120 * time.Second
	for h.now < settles+lasts {
		if h.now == settles {
			for _, name := range h.names {
				began = append(began, h.types[name].served)
			}
		}
		h.tick()
	}
	for i, a := range h.names {
		for j, b := range h.names {
			one, other := h.types[a], h.types[b]
			had := (one.served - began[i]) / time.Duration(one.weight)
			lag := (other.served-began[j])/time.Duration(other.weight) - had
			if most := 4 * (quantum + time.Duration(h.slots)*(line+dearest+fairLook)); lag > most {
				t.Fatalf("%s is %s behind %s, more than %s: %+v and %+v", a, lag, b, most, *one, *other)
			}
		}
	}
	most := len(h.names) + int(time.Duration(2*h.slots)*(h.now/quantum))
	if h.moved > most {
		t.Fatalf("%d children went in %s: more than %d", h.moved, h.now, most)
	}
}

func TestFairness_WhatIsOwed(t *testing.T) {
	t.Parallel()
	var f Fairness
	look := func(slots, other int, waits bool) {
		f.Look([]Contender{{Type: "flood", Slots: slots, Waits: true, More: true},
			{Type: "often", Slots: other, Waits: waits, More: true}}, time.Second)
	}
	has := map[TypeName]int{"flood": 4}
	look(4, 0, true)
	if !f.Due("often", "flood", has) {
		t.Error("the first time it is next")
	}
	look(3, 1, false)
	f.Serve("flood", 3, time.Second)
	f.Serve("often", 1, 5*time.Second)
	look(4, 0, true)
	if f.Due("often", "flood", has) {
		t.Error("it has had more than its share, and is next again")
	}
	f.Serve("flood", 4, time.Second)
	look(4, 0, true)
	if !f.Due("often", "flood", has) {
		t.Error("it is a quantum behind, and not next")
	}
	f.Look([]Contender{{Type: "flood"}, {Type: "often"}}, time.Second)
	look(4, 0, true)
	if f.Had("flood") != 0 {
		t.Error("once nothing waited, what was had still counts")
	}
}

// None yields to its equals without Fair; one child at a time does with it.
func TestYield_ToEquals(t *testing.T) {
	t.Parallel()
	y := Yield{Tenants: []Tenant{{Type: "a"}, {Type: "a"}, {Type: "a"}}, Keep: keepOne,
		Waiting: []Backlog{{"a", 9, 0}, {"b", 5, 0}}, Could: map[TypeName]int{"a": 3, "b": 3}}
	if to, _ := y.Decide(); to[0] != "" {
		t.Errorf("without: %q", to)
	}
	y.Fair = &Fairness{}
	y.Fair.Look([]Contender{
		{Type: "a", Slots: 3, Waits: true, More: true},
		{Type: "b", Waits: true, More: true},
	}, time.Second)
	if to, made := y.Decide(); to[0] != "b" || to[1] != "" || len(made) != 1 {
		t.Errorf("one at a time: %q, %q", to, made)
	}
	y.Tenants[0].Yields, y.Tenants[0].Slow = true, true
	if to, made := y.Decide(); to[0] != "b" || to[1] != "b" || to[2] != "" || len(made) != 1 {
		t.Errorf("one whose line is long is not waited for: %q, %q", to, made)
	}
	y.Freed, y.Free = []TypeName{"b"}, 1
	if to, _ := y.Decide(); to[0]+to[1]+to[2] != "" {
		t.Errorf("once a slot is free for it, no other one goes: %q", to)
	}
	y.Freed, y.Free = nil, 0
	y.Tenants[0] = Tenant{Type: "b", Stays: true, Coming: true}
	if to, _ := y.Decide(); to[1] != "" || to[2] != "" {
		t.Errorf("while one comes up, no other one goes: %q", to)
	}
	y.Tenants[0] = Tenant{Type: "x", Exec: true, Stays: true}
	y.Waiting = append(y.Waiting, Backlog{"x", 1, -1})
	if to, _ := y.Decide(); to[1] != "b" {
		t.Errorf("what is more urgent than both keeps its slot, and another one goes: %q", to)
	}
	y.Waiting[2].Head = 0
	y.Fair.had["x"] = time.Hour
	if to, _ := y.Decide(); to[1] != "" {
		t.Errorf("the end of a process of its own line frees a slot: %q", to)
	}
}
