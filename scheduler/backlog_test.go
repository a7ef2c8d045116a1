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
			to, made := Yield(c.tenants, c.waiting, c.could, func(t Tenant, _ TypeName) bool { return !t.More })
			if !slices.Equal(to, c.to) || !slices.Equal(made, c.made) {
				t.Errorf("they yield to %q, made %v; want %q, %v", to, made, c.to, c.made)
			}
		})
	}
}

func TestTenant_Spare(t *testing.T) {
	t.Parallel()
	const min = 20 * time.Second
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for _, c := range []struct {
		name   string
		tenant Tenant
		gave   time.Time // when a child of the type that waits made room
		want   bool
	}{
		{"its type has no work, and no child ever went", Tenant{Up: ago(0)}, time.Time{}, true},
		{"its type has work", Tenant{Up: ago(time.Hour), More: true}, time.Time{}, false},
		{"the type that waits has just made room", Tenant{Up: ago(time.Hour)}, ago(min - 1), false},
		{"the type that waits made room long ago", Tenant{Up: ago(time.Second)}, ago(time.Hour), true},
		{"it came up in the place of the type that waits", Tenant{Up: ago(time.Hour)}, ago(time.Hour + min - 1), false},
		{"its type has just made room, and it was there before", Tenant{Up: ago(time.Hour), Gave: ago(time.Second)}, time.Time{}, true},
		{"its type had just made room when it came up", Tenant{Up: ago(time.Hour), Gave: ago(time.Hour + min - 1)}, time.Time{}, false},
		{"its type had made room long before", Tenant{Up: ago(time.Second), Gave: ago(time.Second + min)}, time.Time{}, true},
	} {
		if got := c.tenant.Spare(c.gave, min, noon); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// Types whose work comes in turns share one slot, and each job is done at once:
// however they take turns, a type does not come up twice within min_ready
// because of another's work, and none waits beside an idle child for longer than
// min_ready.
func TestTenant_SpareIsNoBattle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minReady := time.Duration(rapid.IntRange(1, 20).Draw(t, "min_ready")) * time.Second
		types := []TypeName{"a", "b", "c"}[:rapid.IntRange(2, 3).Draw(t, "types")]
		now := noon
		gave, starts, waits := map[TypeName]time.Time{}, map[TypeName]time.Time{"a": now}, map[TypeName]time.Time{}
		up, ready, has := now, now, TypeName("a")
		for range 300 {
			now = now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
			typ := rapid.SampledFrom(types).Draw(t, "type")
			if typ == has { // done at once: it is READY anew, unless it was told to make room
				if len(waits) == 0 {
					ready = now
				}
			} else if waits[typ].IsZero() {
				waits[typ] = now
			}
			for _, other := range types {
				since, waiting := waits[other]
				if !waiting || other == has {
					continue
				}
				child := Lodger{Type: has, State: ChildReady, Since: ready,
					Spare: Tenant{Up: up, Gave: gave[has]}.Spare(gave[other], minReady, now)}
				if MakeRoom([]Lodger{child}, other, minReady, now) < 0 {
					if now.Sub(since) >= minReady && now.Sub(ready) >= minReady {
						t.Fatalf("%s waits for %s beside an idle child", other, now.Sub(since))
					}
					continue
				}
				if last, was := starts[other]; was && now.Sub(last) < minReady {
					t.Fatalf("%s comes up twice within %s", other, now.Sub(last))
				}
				gave[has], starts[other], up, ready, has = now, now, now, now, other
				delete(waits, other)
			}
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
		to, made := Yield(tenants, waiting, could, func(Tenant, TypeName) bool { return false })
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
