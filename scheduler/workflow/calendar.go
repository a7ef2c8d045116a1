package workflow

import (
	"slices"
	"time"
)

// Load is a step of a run that the clock is to start.
type Load struct {
	At   time.Time // of the run's slot
	Step Step
	// Needs are the places of the steps that it needs.
	Needs []int
}

// Calendar is what the clock starts from a time until another, slot by slot: at most so many steps. Runs that follow
// the end of another, and those that events start, are not in it.
func Calendar(list []Definition, from, until time.Time, most int) (loads []Load) {
	type slot struct {
		at time.Time
		of *Definition
	}
	var slots []slot
	for i := range list {
		d := &list[i]
		if !d.Active || d.Sensor == nil {
			continue
		}
		s, err := d.Sensor.Schedule()
		if err != nil || s == nil {
			continue
		}
		at, ok := s.Next(from)
		for n := 0; ok && at.Before(until) && n <= most; n++ {
			slots = append(slots, slot{at, d})
			at, ok = s.Next(at)
		}
	}
	slices.SortStableFunc(slots, func(x, y slot) int { return x.at.Compare(y.at) })
	for _, s := range slots {
		if len(loads)+len(s.of.Steps) > most {
			return loads
		}
		place := map[string]int{}
		for _, step := range InOrder(s.of.Steps) {
			l := Load{At: s.at, Step: step}
			for _, name := range step.After {
				if n, there := place[name]; there {
					l.Needs = append(l.Needs, n)
				}
			}
			place[step.Name] = len(loads)
			loads = append(loads, l)
		}
	}
	return loads
}
