package lock

import (
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
	waits := make([]time.Duration, len(jobs))
	var sum, worked, last time.Duration
	first := jobs[0].At
	for i, j := range jobs {
		waits[i] = starts[i] - j.At
		sum, worked = sum+waits[i], worked+j.Takes
		first, last = min(first, j.At), max(last, starts[i]+j.Takes)
	}
	slices.Sort(waits)
	out.Makespan = last - first
	out.WaitMean, out.WaitMax = sum/time.Duration(len(jobs)), waits[len(waits)-1]
	out.WaitP50, out.WaitP99 = rankOf(waits, 50), rankOf(waits, 99)
	if all := float64(out.Makespan) * float64(slots); all > 0 {
		out.Utilisation = float64(worked) / all
	}
	return out
}

// rankOf is the least of sorted values that so many percent of them do not exceed.
func rankOf(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
