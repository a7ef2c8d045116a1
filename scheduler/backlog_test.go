package scheduler

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestYield(t *testing.T) {
	a, b := Tenant{Type: "a"}, Tenant{Type: "b"}
	idle := Tenant{Type: "a", Idle: true}
	stays, yields := Tenant{Type: "a", Stays: true}, Tenant{Type: "a", Yields: true}
	for _, c := range []struct {
		name    string
		tenants []Tenant
		waiting []Backlog
		could   map[TypeName]int
		to      []TypeName
		made    []TypeName
	}{
		{"nothing waits", []Tenant{a, a}, nil, nil, []TypeName{"", ""}, nil},
		{"what is more urgent gets one for each job", []Tenant{a, a, a}, []Backlog{{"a", 9, 0}, {"c", 2, -1}},
			map[TypeName]int{"c": 4}, []TypeName{"c", "c", ""}, []TypeName{"c"}},
		{"what is as urgent waits", []Tenant{a}, []Backlog{{"a", 9, 0}, {"c", 1, 0}}, map[TypeName]int{"c": 4}, []TypeName{""}, nil},
		{"a type without work yields", []Tenant{a}, []Backlog{{"c", 1, 19}}, map[TypeName]int{"c": 4}, []TypeName{"c"}, []TypeName{"c"}},
		{"no more than could come up", []Tenant{a, a}, []Backlog{{"c", 9, 0}}, map[TypeName]int{"c": 1}, []TypeName{"c", ""}, []TypeName{"c"}},
		{"what cannot come up gets none", []Tenant{a}, []Backlog{{"c", 1, -20}}, nil, []TypeName{""}, nil},
		{"a child that yields goes on yielding", []Tenant{a, yields}, []Backlog{{"c", 1, 0}},
			map[TypeName]int{"c": 1}, []TypeName{"", "c"}, []TypeName{"c"}},
		{"one with nothing to do goes first", []Tenant{a, yields, idle}, []Backlog{{"c", 1, 0}},
			map[TypeName]int{"c": 1}, []TypeName{"", "", "c"}, []TypeName{"c"}},
		{"but not if its type has work", []Tenant{b, idle}, []Backlog{{"a", 1, 5}, {"c", 1, 0}},
			map[TypeName]int{"c": 1}, []TypeName{"c", ""}, []TypeName{"c"}},
		{"the least urgent work yields", []Tenant{a, b}, []Backlog{{"a", 1, 1}, {"b", 1, 2}, {"c", 1, 0}},
			map[TypeName]int{"c": 1}, []TypeName{"", "c"}, []TypeName{"c"}},
		{"a child that comes or goes is left alone", []Tenant{stays}, []Backlog{{"c", 1, 0}}, map[TypeName]int{"c": 1}, []TypeName{""}, nil},
		{"fewer than wanted: room is not made for all", []Tenant{a}, []Backlog{{"c", 2, 0}}, map[TypeName]int{"c": 2}, []TypeName{"c"}, nil},
		{"among idle ones, whoever goes at once", []Tenant{yields, {Type: "b", Idle: true}, {Type: "b", Idle: true, More: true}}, []Backlog{{"c", 1, 0}},
			map[TypeName]int{"c": 1}, []TypeName{"", "c", ""}, []TypeName{"c"}},
		{"the most urgent first, and not for two", []Tenant{a}, []Backlog{{"c", 1, 3}, {"d", 1, 2}},
			map[TypeName]int{"c": 1, "d": 1}, []TypeName{"d"}, []TypeName{"d"}},
		{"what got a more urgent job yields no more", []Tenant{yields}, []Backlog{{"a", 1, -5}, {"c", 1, 0}},
			map[TypeName]int{"c": 1}, []TypeName{""}, nil},
		{"without a reason to yield it takes on again", []Tenant{yields}, nil, nil, []TypeName{""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			y := Yield{Tenants: c.tenants, Waiting: c.waiting, Could: c.could, Keep: keepOne}
			to, made := y.Decide()
			if !slices.Equal(to, c.to) || !slices.Equal(made, c.made) {
				t.Errorf("they yield to %q, made %v; want %q, %v", to, made, c.to, c.made)
			}
		})
	}
}

// keepOne keeps a child of a type that has work, and no other.
func keepOne(t Tenant, _ TypeName) time.Duration { return t.Keep(time.Second, time.Second) }

func TestTenant_Keep(t *testing.T) {
	t.Parallel()
	const most, bash, model = 20 * time.Second, 10 * time.Millisecond, 30 * time.Second
	for _, c := range []struct {
		name   string
		tenant Tenant
		start  time.Duration // of the type that waits
		want   time.Duration
	}{
		{"its type has no work", Tenant{Start: bash}, bash, 0},
		{"nor has a model's, however long it takes to load", Tenant{Start: model}, model, 0},
		{"both have work, and start at once", Tenant{Start: bash, More: true}, bash, bash},
		{"the dearer start counts: its own", Tenant{Start: time.Second, More: true}, bash, time.Second},
		{"the dearer start counts: that of the other", Tenant{Start: bash, More: true}, time.Second, time.Second},
		{"no longer than min_ready", Tenant{Start: model, More: true}, bash, most},
		{"no start of either is known", Tenant{More: true}, 0, 0},
	} {
		if got := c.tenant.Keep(c.start, most); got != c.want {
			t.Errorf("%s: kept for %s, want %s", c.name, got, c.want)
		}
	}
}

// The law of room: one slot, a type whose work comes by and by, and another that
// waits for the slot in each pause. Whatever the pauses, which only hindsight
// knows, all that is waited and started costs at most twice the best choice in
// each pause, and one start. A type without work keeps nothing for an instant.
func TestTenant_KeepCostsAtMostTwiceTheBest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(1, most).Draw(t, name)) * time.Millisecond
		}
		minReady := some("min_ready", 20_000)
		a, b := min(some("start of a", 20_000), minReady), min(some("start of b", 20_000), minReady)
		var cost, best time.Duration
		now := noon
		for range rapid.IntRange(1, 50).Draw(t, "pauses") {
			pause, more := some("pause", 60_000), rapid.Bool().Draw(t, "a has work")
			child := Lodger{Type: "a", State: ChildReady, Since: now, Keep: Tenant{Start: a, More: more}.Keep(b, minReady)}
			kept := child.Until().Sub(now)
			if !more && (kept != 0 || !child.Freeable(now)) {
				t.Fatalf("an idle child without work is kept for %s", kept)
			}
			if kept > minReady {
				t.Fatalf("kept for %s, longer than min_ready, %s", kept, minReady)
			}
			change := a + b // the slot changes hands and comes back
			if kept > 0 && MakeRoom([]Lodger{child}, "b", 1, now.Add(kept-1)) >= 0 {
				t.Fatal("it goes before")
			}
			if MakeRoom([]Lodger{child}, "b", 1, now.Add(kept)) < 0 {
				t.Fatal("it does not go then")
			}
			switch {
			case !more: // b has to come up, whoever chooses
				cost, best = cost+change, best+change
			case pause <= kept:
				cost, best = cost+pause, best+min(pause, change)
			default:
				cost, best = cost+kept+change, best+min(pause, change)
			}
			now = now.Add(pause + change)
		}
		if cost > 2*best+max(a, b) {
			t.Fatalf("it costs %s, and %s is the best in hindsight", cost, best)
		}
	})
}

// TestYield_NobodyForLess: whatever waits, nobody yields to what is not more
// urgent than all that waits of its own type, nor more children than jobs wait.
func TestYield_NobodyForLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SampledFrom([]TypeName{"a", "b", "c", "d"})
		var tenants []Tenant
		for range rapid.IntRange(0, 6).Draw(t, "tenants") {
			tenants = append(tenants,
				Tenant{Type: types.Draw(t, "type"), Stays: rapid.Bool().Draw(t, "stays"), Yields: rapid.Bool().Draw(t, "yields")})
		}
		var waiting []Backlog
		best, could, jobs := map[TypeName]int{"a": 20, "b": 20, "c": 20, "d": 20}, map[TypeName]int{}, 0
		for _, name := range []TypeName{"a", "b", "c", "d"} {
			could[name] = rapid.IntRange(0, 3).Draw(t, "could")
			if rapid.Bool().Draw(t, "waits") {
				best[name] = rapid.IntRange(-20, 19).Draw(t, "best")
				waiting = append(waiting, Backlog{name, rapid.IntRange(1, 4).Draw(t, "jobs"), best[name]})
				jobs += min(could[name], waiting[len(waiting)-1].Jobs)
			}
		}
		y := Yield{Tenants: tenants, Waiting: waiting, Could: could, Keep: keepOne}
		to, made := y.Decide()
		n := 0
		for i, whom := range to {
			if whom == "" {
				continue
			}
			n++
			least := 20
			for _, w := range waiting {
				if w.Type != tenants[i].Type && could[w.Type] > 0 {
					least = min(least, w.Head)
				}
			}
			if tenants[i].Stays || best[tenants[i].Type] <= least {
				t.Fatalf("%+v yields, though nothing more urgent waits: %+v", tenants[i], waiting)
			}
		}
		if n > jobs {
			t.Fatalf("%d yield to %d jobs", n, jobs)
		}
		if len(made) > len(waiting) {
			t.Fatalf("room for %v, of %+v", made, waiting)
		}
	})
}
