package lock

import (
	"maps"
	"slices"
)

// Cycle finds jobs that wait for each other in a circle, of which none will ever
// get what it waits for. waits has, of each job that waits, those it waits for. The
// cycle begins with its youngest member, the highest id, which is the one to fail;
// each waits for the next, and the last for the first. nil: there is none. Of several
// it is the one that is found from the lowest id.
func Cycle(waits map[ID][]ID) []ID {
	done := map[ID]bool{}
	for _, root := range slices.Sorted(maps.Keys(waits)) {
		if cycle := cycleFrom(root, waits, done); cycle != nil {
			youngest := slices.Index(cycle, slices.Max(cycle))
			return append(slices.Clone(cycle[youngest:]), cycle[:youngest]...)
		}
	}
	return nil
}

// cycleFrom walks from a job along what is waited for, the lowest ids first. Not by
// calls that call each other: a chain may be long.
func cycleFrom(root ID, waits map[ID][]ID, done map[ID]bool) []ID {
	type step struct {
		id   ID
		next []ID // to be walked
	}
	enter := func(id ID) step { return step{id, slices.Sorted(slices.Values(waits[id]))} }
	path, at := []step{enter(root)}, map[ID]int{root: 0}
	for len(path) > 0 {
		last := &path[len(path)-1]
		if len(last.next) == 0 {
			done[last.id] = true
			delete(at, last.id)
			path = path[:len(path)-1]
			continue
		}
		id := last.next[0]
		last.next = last.next[1:]
		if from, on := at[id]; on {
			var cycle []ID
			for _, s := range path[from:] {
				cycle = append(cycle, s.id)
			}
			return cycle
		}
		if !done[id] {
			at[id] = len(path)
			path = append(path, enter(id))
		}
	}
	return nil
}
