package lock

import (
	"maps"
	"slices"
	"time"
)

// Outcome is what became of the jobs of a simulation.
type Outcome struct {
	Order       Order
	Makespan    time.Duration   // from the first arrival to the last end
	Starts      []time.Duration // of each job, in the order given: when it had all it needs
	WaitMean    time.Duration
	WaitP50     time.Duration // from arrival to start: half of the jobs waited no longer
	WaitP99     time.Duration
	WaitMax     time.Duration
	Utilisation float64 // the share of all slots' time in which jobs worked
	Contention  float64 // the share in which jobs had a slot, and waited there for a lock
	Broken      int     // jobs that were failed because they waited for each other
}

// Was is the outcome of jobs that started at these times, and never waited in a slot.
func Was(jobs []Arrival, starts []time.Duration, slots int) Outcome {
	out := Outcome{Starts: starts}
	if len(jobs) == 0 {
		return out
	}
	var waits []time.Duration
	var worked, last time.Duration
	first := jobs[0].At
	for i := range jobs {
		j := &jobs[i]
		if !j.Again {
			waits = append(waits, starts[i]-came(jobs, starts, i))
		}
		worked += j.Takes
		first, last = min(first, j.At), max(last, starts[i]+j.Takes)
	}
	out.Makespan = last - first
	out.WaitMean, out.WaitP50, out.WaitP99, out.WaitMax = spread(waits)
	if all := float64(out.Makespan) * float64(slots); all > 0 {
		out.Utilisation = float64(worked) / all
	}
	return out
}

// came is when a job could begin, if all began at these times.
func came(jobs []Arrival, starts []time.Duration, i int) time.Duration {
	at := jobs[i].At
	for _, n := range jobs[i].Needs {
		at = max(at, starts[n]+jobs[n].Takes+jobs[i].Pause)
	}
	return min(at, starts[i])
}

// spread sorts waits.
func spread(waits []time.Duration) (mean, p50, p99, longest time.Duration) {
	if len(waits) == 0 {
		return 0, 0, 0, 0
	}
	var sum time.Duration
	for _, w := range waits {
		sum += w
	}
	slices.Sort(waits)
	return sum / time.Duration(len(waits)), rankOf(waits, 50), rankOf(waits, 99), waits[len(waits)-1]
}

// Part is what became of the jobs of a group.
type Part struct {
	Group            string
	Jobs             int
	WaitP50, WaitP99 time.Duration
	Busy             float64 // slots, on average
	Earlier, Later   int     // jobs that started so much earlier, or later, than in the other outcome
}

// moved is a difference between two starts that counts.
const moved = time.Second

// Parts are the groups of jobs, by name. Starts are compared with those of the other outcome.
func (o Outcome) Parts(jobs []Arrival, other Outcome) []Part {
	waits, parts, worked := map[string][]time.Duration{}, map[string]*Part{}, map[string]time.Duration{}
	for i := range jobs {
		j := &jobs[i]
		p := parts[j.Group]
		if p == nil {
			p = &Part{Group: j.Group}
			parts[j.Group] = p
		}
		worked[j.Group] += j.Takes
		if j.Again {
			continue
		}
		p.Jobs++
		waits[j.Group] = append(waits[j.Group], o.Starts[i]-came(jobs, o.Starts, i))
		switch d := o.Starts[i] - other.Starts[i]; {
		case d >= moved:
			p.Later++
		case d <= -moved:
			p.Earlier++
		}
	}
	list := make([]Part, 0, len(parts))
	for _, group := range slices.Sorted(maps.Keys(parts)) {
		p := parts[group]
		_, p.WaitP50, p.WaitP99, _ = spread(waits[group])
		if o.Makespan > 0 {
			p.Busy = float64(worked[group]) / float64(o.Makespan)
		}
		list = append(list, *p)
	}
	return list
}

// rankOf is the least of sorted values that so many percent of them do not exceed.
func rankOf(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
