package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// afterMoves gives the units as they are when moves were made.
func afterMoves(units []Unit, moves []Move) []Unit {
	units = slices.Clone(units)
	to := map[string]InstanceID{}
	for _, m := range moves {
		to[m.Unit] = m.To
	}
	for i := range units {
		if id, moved := to[units[i].Name]; moved {
			units[i].Owner = id
		}
	}
	return units
}

func counts(units []Unit, live []InstanceID) (n map[InstanceID]int, busy map[InstanceID]int) {
	n, busy = map[InstanceID]int{}, map[InstanceID]int{}
	for _, id := range live {
		n[id], busy[id] = 0, 0
	}
	for _, u := range units {
		n[u.Owner]++
		if u.Busy {
			busy[u.Owner]++
		}
	}
	return n, busy
}

func TestAssign_Laws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var live []InstanceID
		for id := InstanceID(1); id <= 6; id++ {
			if rapid.Bool().Draw(t, fmt.Sprint("live ", id)) {
				live = append(live, id)
			}
		}
		var units []Unit
		for i := range rapid.IntRange(0, 30).Draw(t, "units") {
			units = append(units, Unit{Name: fmt.Sprint("u", i), Owner: InstanceID(rapid.IntRange(0, 6).Draw(t, "owner")),
				Busy: rapid.IntRange(0, 3).Draw(t, "busy") == 0})
		}
		moves := Assign(units, live)
		then := afterMoves(units, moves)
		if len(live) == 0 {
			if slices.ContainsFunc(then, func(u Unit) bool { return u.Owner != 0 }) {
				t.Fatalf("nobody is there, and somebody owns: %v", then)
			}
			return
		}
		n, busy := counts(then, live)
		least := len(units)
		for _, id := range live {
			least = min(least, n[id])
		}
		if n[0] > 0 || len(n) != len(live) {
			t.Fatalf("not owned by a live one: %v", then)
		}
		for id, has := range n {
			if has > least+1 && has > busy[id] {
				t.Fatalf("%d has %d of %d, and not for busy ones (%d)", id, has, least, busy[id])
			}
		}
		was, _ := counts(units, live)
		need := 0 // moves that cannot be done without
		for id, had := range was {
			if !slices.Contains(live, id) {
				need += had
			} else {
				need += max(0, had-n[id])
			}
		}
		if len(moves) != need {
			t.Fatalf("%d moves, where %d would do: %v", len(moves), need, moves)
		}
		for i, u := range units {
			if u.Busy && slices.Contains(live, u.Owner) && then[i].Owner != u.Owner {
				t.Fatalf("%s is busy and was moved", u.Name)
			}
		}
		if again := Assign(then, live); len(again) > 0 {
			t.Fatalf("not steady: %v", again)
		}
		// The rows may come in any order.
		shuffled, mixed := rapid.Permutation(units).Draw(t, "rows"), rapid.Permutation(live).Draw(t, "instances")
		if other := Assign(shuffled, mixed); !slices.Equal(other, moves) {
			t.Fatalf("%v, from the same rows %v", moves, other)
		}
	})
}

// Of an even distribution a new instance takes its part, and no more is moved.
func TestAssign_AFourthInstanceMovesAQuarter(t *testing.T) {
	t.Parallel()
	var units []Unit
	for i := range 10_000 {
		units = append(units, Unit{Name: fmt.Sprintf("w%05d", i)})
	}
	units = afterMoves(units, Assign(units, []InstanceID{1, 2, 3}))
	moves := Assign(units, []InstanceID{1, 2, 3, 4})
	if len(moves) != 2500 || slices.ContainsFunc(moves, func(m Move) bool { return m.To != 4 }) {
		t.Errorf("%d moves", len(moves))
	}
}

// What not everybody may have goes to who may, stays there, and the others make up for it.
func TestAssign_WhatNotEverybodyMayHave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		live := []InstanceID{1, 2, 3, 4}[:rapid.IntRange(1, 4).Draw(t, "live")]
		var units []Unit
		for i := range rapid.IntRange(0, 30).Draw(t, "units") {
			u := Unit{Name: fmt.Sprint("u", i), Owner: InstanceID(rapid.IntRange(0, 5).Draw(t, "owner"))}
			if rapid.Bool().Draw(t, "able") {
				u.Able = rapid.SliceOfDistinct(rapid.SampledFrom([]InstanceID{1, 2, 3, 4, 5}), rapid.ID).Draw(t, "by")
			}
			units = append(units, u)
		}
		moves := Assign(units, live)
		then := afterMoves(units, moves)
		n, _ := counts(then, live)
		least := len(units)
		for _, id := range live {
			least = min(least, n[id])
		}
		for i, u := range then {
			able := u.Able == nil || slices.Contains(u.Able, u.Owner)
			some := u.Able == nil || slices.ContainsFunc(live, func(id InstanceID) bool { return slices.Contains(u.Able, id) })
			switch {
			case u.Owner == 0 && some, u.Owner != 0 && (!able || !slices.Contains(live, u.Owner)):
				t.Fatalf("%+v, and live are %v", u, live)
			case u.Able != nil && u.Owner != units[i].Owner && slices.Contains(u.Able, units[i].Owner) &&
				slices.Contains(live, units[i].Owner) && len(u.Able) < len(live):
				t.Fatalf("%+v was moved from %d", u, units[i].Owner)
			case u.Able == nil && n[u.Owner] > least+1:
				t.Fatalf("%d has %d, another one %d, and %s could be moved", u.Owner, n[u.Owner], least, u.Name)
			}
		}
		if again := Assign(then, live); len(again) > 0 {
			t.Fatalf("not steady: %v", again)
		}
	})
}
