package scheduler

import (
	"maps"
	"slices"
	"testing"
)

func gpu(n int) Takes { return Takes{Of: Resources{"gpu": n}} }

func TestTakes_Within(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes Takes
		slots int
		left  Resources
		want  int
	}{
		{Takes{}, 3, nil, 3},
		{gpu(1), 3, Resources{"gpu": 2}, 2},
		{gpu(2), 3, Resources{"gpu": 3}, 1},
		{gpu(2), 3, Resources{"gpu": 1}, 0},
		{gpu(1), 1, Resources{"gpu": 9}, 1},
		{gpu(1), 3, nil, 0},
		{Takes{Each: 2}, 5, nil, 2},
		{Takes{Each: 2}, 1, nil, 0},
		{Takes{Each: 2, Of: Resources{"gpu": 1}}, 9, Resources{"gpu": 1}, 1},
		{Takes{Of: Resources{"gpu": 1, "disk": 4}}, 9, Resources{"gpu": 8, "disk": 9}, 2},
	} {
		if got := c.takes.Within(c.slots, c.left); got != c.want {
			t.Errorf("%v in %d slots and %v: %d, want %d", c.takes, c.slots, c.left, got, c.want)
		}
	}
}

// A type that lacks a resource gets it from children that hold some of it, although slots are free, and what becomes
// free is kept for it, except from those that come first.
func TestYield_OfAResource(t *testing.T) {
	t.Parallel()
	holder, other := Tenant{Type: "small", Takes: gpu(1)}, Tenant{Type: "plain"}
	exec := Tenant{Type: "small", Takes: gpu(1), Stays: true, Exec: true}
	for _, c := range []struct {
		name     string
		tenants  []Tenant
		taken    int
		waiting  []Backlog
		to       []TypeName
		reserves Reserves
	}{
		{"a holder of it goes, and no other", []Tenant{other, holder}, 2, []Backlog{{"one", 1, 0}}, []TypeName{"", "one"},
			Reserves{"gpu": {"one"}}},
		{"two holders for a child that takes two", []Tenant{holder, other, holder}, 2, []Backlog{{"two", 1, 0}},
			[]TypeName{"two", "", "two"}, Reserves{"gpu": {"two"}}},
		{"what is free counts", []Tenant{holder, holder}, 1, []Backlog{{"two", 1, 0}}, []TypeName{"two", ""},
			Reserves{"gpu": {"two"}}},
		{"a process for each job goes by itself, and its part is kept", []Tenant{exec}, 1, []Backlog{{"two", 1, 0}, {"small", 9, 0}},
			[]TypeName{""}, Reserves{"gpu": {"two"}}},
		{"a type that is more urgent is not kept from it", []Tenant{exec}, 1, []Backlog{{"two", 1, 0}, {"small", 9, -1}},
			[]TypeName{""}, Reserves{"gpu": {"small", "two"}}},
		{"nothing is kept while there is enough", []Tenant{exec}, 0, []Backlog{{"two", 1, 0}}, []TypeName{"two"}, nil},
	} {
		y := Yield{Tenants: c.tenants, Waiting: c.waiting, Could: map[TypeName]int{"one": 9, "two": 9}, Keep: keepOne,
			Free: 4, Takes: map[TypeName]Takes{"one": gpu(1), "two": gpu(2), "small": gpu(1)},
			Stocks: []Stock{{Name: "disk", All: 1}, {Name: "gpu", All: 2, Taken: c.taken}}}
		if c.name == "nothing is kept while there is enough" { // a slot is what it lacks
			c.to, y.Could = []TypeName{""}, map[TypeName]int{"two": 0}
		}
		to, made := y.Decide()
		if !slices.Equal(to, c.to) || len(made) > 0 || !maps.EqualFunc(y.Reserves, c.reserves, slices.Equal) {
			t.Errorf("%s: %v, room for %v, reserves %v", c.name, to, made, y.Reserves)
		}
	}
}

// A type whose children take several slots is next when enough of them make room, and slots that become free are kept
// for it.
func TestYield_OfSeveralSlots(t *testing.T) {
	t.Parallel()
	warm, exec := Tenant{Type: "small"}, Tenant{Type: "small", Stays: true, Exec: true}
	for _, c := range []struct {
		name     string
		tenants  []Tenant
		free     int
		to       []TypeName
		made     bool
		reserves Reserves
	}{
		{"two children make room", []Tenant{warm, warm, warm}, 0, []TypeName{"wide", "wide", ""}, true, Reserves{"": {"wide"}}},
		{"one does where a slot is free", []Tenant{warm, warm, warm}, 1, []TypeName{"wide", "", ""}, true, Reserves{"": {"wide"}}},
		{"what runs for each job goes by itself", []Tenant{exec, exec, exec}, 1, []TypeName{"", "", ""}, false, Reserves{"": {"wide"}}},
	} {
		y := Yield{Tenants: c.tenants, Waiting: []Backlog{{"wide", 1, -1}, {"small", 9, 0}}, Keep: keepOne,
			Could: map[TypeName]int{"wide": 9}, Free: c.free, Takes: map[TypeName]Takes{"wide": {Each: 2}}}
		to, made := y.Decide()
		reserved := maps.EqualFunc(y.Reserves, c.reserves, slices.Equal)
		if !slices.Equal(to, c.to) || c.made != (len(made) > 0) || !reserved {
			t.Errorf("%s: %v, room for %v, reserves %v", c.name, to, made, y.Reserves)
		}
	}
}
