package scheduler

import (
	"cmp"
	"slices"
)

// Unit is something that one instance at a time sees to: a workflow's sensor.
type Unit struct {
	Name  string
	Owner InstanceID   // 0: nobody
	Busy  bool         // it stays where it is until it is idle
	Able  []InstanceID // who may have it; nil: everybody
}

// Move gives a unit to an instance; to 0, where there is none.
type Move struct {
	Unit string
	To   InstanceID
}

// Assign says who gets which units, so that each live instance has as many as any
// other, or one more; as few move as can, and none that is busy, unless its owner is
// gone. Those that not all of them may have are given out first: they stay where
// they are while they can, and the others make up for how many somebody has of them.
// Every instance that computes it from the same rows comes to the same.
func Assign(units []Unit, live []InstanceID) (moves []Move) {
	live = slices.Compact(slices.Sorted(slices.Values(live)))
	units = slices.SortedFunc(slices.Values(units), func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
	units, moves = place(units, live)
	return append(moves, level(units, live)...)
}

// place gives out the units that not everybody may have. They are busy from then on,
// and those that nobody may have are left out.
func place(units []Unit, live []InstanceID) (rest []Unit, moves []Move) {
	has := map[InstanceID]int{}
	for _, u := range units {
		able := slices.Compact(slices.Sorted(slices.Values(u.Able)))
		able = slices.DeleteFunc(able, func(id InstanceID) bool { return !slices.Contains(live, id) })
		if u.Able == nil || len(able) == len(live) && len(live) > 0 {
			rest = append(rest, u)
			continue
		}
		to := u.Owner
		if !slices.Contains(able, to) {
			to = 0
			if len(able) > 0 {
				to = slices.MinFunc(able, func(a, b InstanceID) int { return cmp.Compare(has[a], has[b]) })
			}
		}
		if to != u.Owner {
			moves = append(moves, Move{u.Name, to})
		}
		if to != 0 {
			has[to]++
			rest = append(rest, Unit{Name: u.Name, Owner: to, Busy: true})
		}
	}
	return rest, moves
}

// level divides units that everybody may have.
func level(units []Unit, live []InstanceID) (moves []Move) {
	room := quotasOf(units, live)
	var free []Unit
	for _, busy := range []bool{true, false} { // the busy ones stay, whoever else has to go
		for _, u := range units {
			_, alive := room[u.Owner]
			switch {
			case u.Busy != busy && alive, !alive && !busy: // the other turn's; an orphan is seen to once
			case alive && room[u.Owner] > 0:
				room[u.Owner]--
			default:
				free = append(free, u)
			}
		}
	}
	slices.SortFunc(free, func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
	to := 0
	for _, u := range free {
		for to < len(live) && room[live[to]] == 0 {
			to++
		}
		switch {
		case to < len(live):
			moves = append(moves, Move{u.Name, live[to]})
			room[live[to]]--
		case u.Owner != 0:
			moves = append(moves, Move{u.Name, 0})
		}
	}
	return moves
}

// quotasOf is how many units each instance is to have. Where somebody has more busy
// ones than its part, the others share what is left.
func quotasOf(units []Unit, live []InstanceID) map[InstanceID]int {
	busy, has := map[InstanceID]int{}, map[InstanceID]int{}
	for _, u := range units {
		has[u.Owner]++
		if u.Busy {
			busy[u.Owner]++
		}
	}
	// The level to which all are filled, as water would: nobody is below it by more than one.
	filled := func(level int) (n int) {
		for _, id := range live {
			n += max(busy[id], level)
		}
		return n
	}
	level := 0
	for len(live) > 0 && filled(level) < len(units) {
		level++
	}
	room, left := map[InstanceID]int{}, len(units)
	var lower []InstanceID
	for _, id := range live {
		room[id] = max(busy[id], level-1)
		left -= room[id]
		if busy[id] < level {
			lower = append(lower, id)
		}
	}
	// Who has that many already keeps the one more.
	slices.SortStableFunc(lower, func(a, b InstanceID) int {
		return cmp.Compare(min(has[b], level), min(has[a], level))
	})
	for _, id := range lower[:min(max(left, 0), len(lower))] {
		room[id]++
	}
	return room
}
