package scheduler

import (
	"cmp"
	"slices"
)

// Unit is something that one instance at a time sees to: a workflow's sensor.
type Unit struct {
	Name  string
	Owner InstanceID   // 0: none
	Busy  bool         // it stays where it is until it is idle
	Able  []InstanceID // instances that may have it; nil: all
}

// Move gives a unit to an instance; to 0, where there is none.
type Move struct {
	Unit string
	To   InstanceID
}

// Assign distributes the units so that each live instance has as many as any other, or one more. As few units as
// possible move. A busy unit moves only if its owner is gone. Units that only some instances may have are placed
// first and stay where they are if they can; the other units even out the counts. Every instance that computes this
// from the same rows gets the same result.
func Assign(units []Unit, live []InstanceID) (moves []Move) {
	live = slices.Compact(slices.Sorted(slices.Values(live)))
	units = slices.SortedFunc(slices.Values(units), func(a, b Unit) int { return cmp.Compare(a.Name, b.Name) })
	units, moves = place(units, live)
	return append(moves, level(units, live)...)
}

// place distributes the units that only some instances may have. These count as busy from then on. Units that no
// live instance may have are left out.
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

// level divides the units that every instance may have.
func level(units []Unit, live []InstanceID) (moves []Move) {
	room := quotasOf(units, live)
	var free []Unit
	for _, busy := range []bool{true, false} { // busy units stay; others move instead
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

// quotasOf is how many units each instance should have. If an instance has more busy units than its share, the
// others divide the rest.
func quotasOf(units []Unit, live []InstanceID) map[InstanceID]int {
	busy, has := map[InstanceID]int{}, map[InstanceID]int{}
	for _, u := range units {
		has[u.Owner]++
		if u.Busy {
			busy[u.Owner]++
		}
	}
	// The level to which all are filled, like water: no instance is more than one below it.
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
	// The one more goes to an instance that has that many already.
	slices.SortStableFunc(lower, func(a, b InstanceID) int {
		return cmp.Compare(min(has[b], level), min(has[a], level))
	})
	for _, id := range lower[:min(max(left, 0), len(lower))] {
		room[id]++
	}
	return room
}
