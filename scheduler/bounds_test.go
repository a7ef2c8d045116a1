package scheduler

import (
	"maps"
	"testing"
)

func TestTerms_Refuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terms Terms
		local bool
		takes Takes
		why   string
	}{
		{Terms{}, false, Takes{}, ""},
		{Terms{}, true, Takes{}, ""},
		{Terms{Far: true}, false, Takes{}, ""},
		{Terms{Has: Resources{"gpu": 2}}, false, Takes{Of: Resources{"gpu": 2}}, ""},
		{Terms{Has: Resources{"gpu": 2}}, false, Takes{Of: Resources{"fpga": 1, "gpu": 3}},
			"has 0 of fpga, and a child takes 1 (resources)"},
		{Terms{Has: Resources{"gpu": 2}}, false, Takes{Of: Resources{"gpu": 3}},
			"has 2 of gpu, and a child takes 3 (resources)"},
		{Terms{Room: 2}, false, Takes{Each: 2}, ""},
		{Terms{Room: 2}, false, Takes{Each: 3}, "has 2 slots, and a child takes 3 (slots)"},
		{Terms{}, false, Takes{Each: 3}, ""},
		{Terms{Far: true}, true, Takes{}, "is not its instance's own machine, and the agent is local: true"},
		{Terms{Only: []TypeName{"dog", "cat"}}, false, Takes{}, ""},
		{Terms{Only: []TypeName{"dog", "cow"}}, false, Takes{}, "takes only dog, cow (only_types)"},
	} {
		if got := c.terms.Refuses("cat", c.local, c.takes); got != c.why {
			t.Errorf("%+v, local %t: %q, want %q", c.terms, c.local, got, c.why)
		}
	}
}

func TestBounds_More(t *testing.T) {
	t.Parallel()
	free := Slots{All: 4, Taken: 3}
	for _, c := range []struct {
		b     Bounds
		slots Slots
		more  int
		hit   string
	}{
		{Bounds{Respawn: 9}, free, 9, ""},
		{Bounds{Respawn: 9}, Slots{All: 4, Taken: 4}, 9, "no_room: big1 has 4 of 4 slots taken"},
		{Bounds{Respawn: 9}, Slots{All: 4, Taken: 4, By: map[TypeName]int{"cat": 1, "dog": 3}}, 9,
			"no_room: big1 has 4 of 4 slots taken: 3 by dog, 1 by cat"},
		{Bounds{Live: 2, PerHost: 3, Respawn: 9}, free, 1, ""},
		{Bounds{Live: 3, PerHost: 3, Respawn: 9}, free, 0, "no_room: max_per_host is 3, and big1 has 3"},
		{Bounds{Live: 4, PerHost: 3, Respawn: 9}, free, 0, "no_room: max_per_host is 3, and big1 has 4"},
		{Bounds{Live: 1, Max: 2, Part: 2, All: 1, Respawn: 9}, free, 1, ""},
		{Bounds{Live: 1, Max: 2, Part: 2, All: 2, Respawn: 9}, free, 0, "no_room: max is 2, and there are 2"},
		{Bounds{Max: 3, Part: 1, All: 1, Respawn: 9}, free, 0, "no_room: max is 3, and the part of the instance of big1 is 1"},
		{Bounds{Max: 1, Part: 0, Respawn: 9}, free, 0, "no_room: max is 1, and the part of the instance of big1 is 0"},
		{Bounds{Live: 1}, free, 0, "child_starting: another on big1"},
		{Bounds{Live: 1, InARow: 2}, free, 0, "agent_fails: 2 deaths in a row: exit status 9"},
		{Bounds{InARow: 2}, Slots{All: 4, Taken: 4}, 0, "agent_fails: 2 deaths in a row: exit status 9"},
		{Bounds{Live: 1, Up: 1, InARow: 2}, free, 0, "child_starting: another on big1"},
		{Bounds{Respawn: 9, Takes: Takes{Of: Resources{"gpu": 1}}, Stocks: []Stock{{Name: "gpu", All: 2, Taken: 1}}}, free, 9, ""},
		{Bounds{Respawn: 9, Takes: Takes{Each: 2}}, Slots{All: 4, Taken: 2}, 9, ""},
		{Bounds{Respawn: 9, Takes: Takes{Each: 2}}, free, 9, "no_room: big1 has 3 of 4 slots taken, and a child of cat takes 2"},
		{Bounds{Respawn: 9, Reserves: Reserves{"": {"dog"}}}, free, 9, "no_room/resource: big1 keeps its slots for a child of dog"},
		{Bounds{Respawn: 9, Takes: Takes{Of: Resources{"gpu": 2}},
			Stocks: []Stock{{Name: "fpga"}, {Name: "gpu", All: 2, Taken: 1, By: map[TypeName]int{"dog": 1}}}}, free, 9,
			"no_room/resource: big1 has 1 of 2 gpu taken: 1 by dog, and a child of cat takes 2"},
		{Bounds{Respawn: 9, Takes: Takes{Of: Resources{"gpu": 1}}, Stocks: []Stock{{Name: "gpu", All: 2, Taken: 1}},
			Reserves: Reserves{"gpu": {"cow", "dog"}}}, free, 9, "no_room/resource: big1 keeps its gpu for a child of dog"},
		{Bounds{Respawn: 9, Takes: Takes{Of: Resources{"gpu": 1}}, Stocks: []Stock{{Name: "gpu", All: 2, Taken: 1}},
			Reserves: Reserves{"gpu": {"cat", "dog"}}}, free, 9, ""},
		// A reload took gpus away while children held them: only a child that takes one lacks it.
		{Bounds{Respawn: 9, Stocks: []Stock{{Name: "gpu", Taken: 1}}}, free, 9, ""},
		{Bounds{Respawn: 9, Takes: Takes{Of: Resources{"gpu": 1}}, Stocks: []Stock{{Name: "gpu", Taken: 1}}}, free, 9,
			"no_room/resource: big1 has 1 of 0 gpu taken, and a child of cat takes 1"},
	} {
		if got := c.b.More(); got != c.more {
			t.Errorf("%+v: %d more", c.b, got)
		}
		if got := c.b.Hit("cat", "big1", c.slots, "exit status 9"); got != c.hit {
			t.Errorf("%+v of %+v: %q, want %q", c.b, c.slots, got, c.hit)
		}
	}
}

// What holds for each type is told once, however many types there are.
func TestHostBounds_NameOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	full := Slots{All: 1, Taken: 1}
	told := BoundsOf("h", full)
	told.Note("cat", "no_room: h has 1 of 1 slots taken")
	told.Note("dog", "")
	told.Note("cow", "no_room: max is 1, and there are 1")
	want := HostBounds{"": "no_room: h has 1 of 1 slots taken", "dog": "", "cow": "no_room: max is 1, and there are 1"}
	if !maps.Equal(told, want) {
		t.Errorf("%q", told)
	}
	told = BoundsOf("h", Slots{All: 1})
	told.Note("cat", "")
	if len(told) > 0 {
		t.Errorf("%q", told)
	}
}
