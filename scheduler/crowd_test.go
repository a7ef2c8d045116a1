package scheduler

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestYield(t *testing.T) {
	a, b := Tenant{Type: "a"}, Tenant{Type: "b"}
	stays, yields := Tenant{Type: "a", Stays: true}, Tenant{Type: "a", Yields: true}
	for name, c := range map[string]struct {
		tenants []Tenant
		waiting []Crowd
		could   map[TypeName]int
		yields  []bool
		made    []TypeName
	}{
		"nothing waits": {[]Tenant{a, a}, nil, nil, []bool{false, false}, nil},
		"what is more urgent gets one for each job":    {[]Tenant{a, a, a}, []Crowd{{"a", 9, 0}, {"c", 2, -1}}, map[TypeName]int{"c": 4}, []bool{true, true, false}, []TypeName{"c"}},
		"what is as urgent waits":                      {[]Tenant{a}, []Crowd{{"a", 9, 0}, {"c", 1, 0}}, map[TypeName]int{"c": 4}, []bool{false}, nil},
		"who has nothing to do yields":                 {[]Tenant{a}, []Crowd{{"c", 1, 19}}, map[TypeName]int{"c": 4}, []bool{true}, []TypeName{"c"}},
		"no more than could come up":                   {[]Tenant{a, a}, []Crowd{{"c", 9, 0}}, map[TypeName]int{"c": 1}, []bool{true, false}, []TypeName{"c"}},
		"what cannot come up gets none":                {[]Tenant{a}, []Crowd{{"c", 1, -20}}, nil, []bool{false}, nil},
		"who yields goes on yielding":                  {[]Tenant{a, yields}, []Crowd{{"c", 1, 0}}, map[TypeName]int{"c": 1}, []bool{false, true}, []TypeName{"c"}},
		"who has the least urgent work yields":         {[]Tenant{a, b}, []Crowd{{"a", 1, 1}, {"b", 1, 2}, {"c", 1, 0}}, map[TypeName]int{"c": 1}, []bool{false, true}, []TypeName{"c"}},
		"who comes or goes is left alone":              {[]Tenant{stays}, []Crowd{{"c", 1, 0}}, map[TypeName]int{"c": 1}, []bool{false}, nil},
		"fewer than wanted: room is not made for all":  {[]Tenant{a}, []Crowd{{"c", 2, 0}}, map[TypeName]int{"c": 2}, []bool{true}, nil},
		"the most urgent first, and not for two":       {[]Tenant{a}, []Crowd{{"c", 1, 3}, {"d", 1, 2}}, map[TypeName]int{"c": 1, "d": 1}, []bool{true}, []TypeName{"d"}},
		"what got a more urgent job yields no more":    {[]Tenant{yields}, []Crowd{{"a", 1, -5}, {"c", 1, 0}}, map[TypeName]int{"c": 1}, []bool{false}, nil},
		"who yields to nobody any more takes on again": {[]Tenant{yields}, nil, nil, []bool{false}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			yields, made := Yield(c.tenants, c.waiting, c.could)
			if !slices.Equal(yields, c.yields) || !slices.Equal(made, c.made) {
				t.Errorf("yields %v, made %v; want %v, %v", yields, made, c.yields, c.made)
			}
		})
	}
}

// TestYield_NobodyForLess: whatever waits, nobody yields to what is not more
// urgent than all that waits of its own type, nor more children than jobs wait.
func TestYield_NobodyForLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SampledFrom([]TypeName{"a", "b", "c", "d"})
		var tenants []Tenant
		for range rapid.IntRange(0, 6).Draw(t, "tenants") {
			tenants = append(tenants, Tenant{Type: types.Draw(t, "type"), Stays: rapid.Bool().Draw(t, "stays"), Yields: rapid.Bool().Draw(t, "yields")})
		}
		var waiting []Crowd
		best, could, jobs := map[TypeName]int{"a": 20, "b": 20, "c": 20, "d": 20}, map[TypeName]int{}, 0
		for _, name := range []TypeName{"a", "b", "c", "d"} {
			could[name] = rapid.IntRange(0, 3).Draw(t, "could")
			if rapid.Bool().Draw(t, "waits") {
				best[name] = rapid.IntRange(-20, 19).Draw(t, "best")
				waiting = append(waiting, Crowd{name, rapid.IntRange(1, 4).Draw(t, "jobs"), best[name]})
				jobs += min(could[name], waiting[len(waiting)-1].Jobs)
			}
		}
		yields, made := Yield(tenants, waiting, could)
		n := 0
		for i, y := range yields {
			if !y {
				continue
			}
			n++
			least := 20
			for _, w := range waiting {
				if w.Type != tenants[i].Type && could[w.Type] > 0 {
					least = min(least, w.Best)
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
