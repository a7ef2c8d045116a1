package lock

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Foretold remembers when jobs that wait were said to start, until they do, so that
// it is known how far off what is said is. Its zero value remembers nothing. What of one
// job was said first counts, and no later correction.
type Foretold struct{ of map[ID]saying }

// saying is what was foretold of a job, and when.
type saying struct{ at, starts time.Time }

// foretoldMost is of how many jobs that wait it is remembered.
const foretoldMost = 500

// Remember takes estimates of jobs of which nothing is remembered yet, as long as there is
// room: of more than that some, spread evenly over their ids, near and far.
func (f *Foretold) Remember(estimates map[ID]Estimate, now time.Time) {
	if f.of == nil {
		f.of = map[ID]saying{}
	}
	var fresh []ID
	for _, id := range slices.Sorted(maps.Keys(estimates)) {
		if _, there := f.of[id]; !there && estimates[id].P50.After(now) { // a job that starts at once waits for no lock
			fresh = append(fresh, id)
		}
	}
	room := min(foretoldMost-len(f.of), len(fresh))
	for i := range room {
		id := fresh[i*len(fresh)/room]
		f.of[id] = saying{now, estimates[id].P50}
	}
}

// Jobs are those that it waits for.
func (f *Foretold) Jobs() []ID { return slices.Sorted(maps.Keys(f.of)) }

// Forget drops a job that will not start, or not as was foretold.
func (f *Foretold) Forget(id ID) { delete(f.of, id) }

// Miss is by how much a forecast was off.
type Miss struct {
	Ahead time.Duration // how far away the start was said to be
	By    time.Duration // earlier or later
}

// Started tells when a job began last; false: nothing was foretold of that, it was before.
func (f *Foretold) Started(id ID, at time.Time) (Miss, bool) {
	s, there := f.of[id]
	if !there || at.Before(s.at) {
		return Miss{}, false
	}
	delete(f.of, id)
	return Miss{Ahead: s.starts.Sub(s.at), By: s.starts.Sub(at).Abs()}, true
}

// horizons are how far ahead forecasts look, as they are told apart.
var horizons = []struct {
	most time.Duration
	name string
}{{10 * time.Second, "10s"}, {time.Minute, "1m"}, {10 * time.Minute, "10m"}, {time.Hour, "1h"}}

// Horizon is the name of a range of how far ahead something is: the range's end, or "longer".
func Horizon(ahead time.Duration) string {
	i, _ := slices.BinarySearchFunc(horizons, ahead, func(h struct {
		most time.Duration
		name string
	}, ahead time.Duration) int {
		return cmp.Compare(h.most, ahead)
	})
	if i == len(horizons) {
		return "longer"
	}
	return horizons[i].name
}
