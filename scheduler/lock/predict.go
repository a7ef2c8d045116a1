package lock

import (
	"cmp"
	"slices"
	"time"
)

// RunningJob is a job that runs, and since when.
type RunningJob struct {
	Job
	Started time.Time
}

// Durations are how long jobs of a type take: half of them no longer than p50, nine of
// ten no longer than p90. false: nothing is known of the type.
type Durations func(typ string) (p50, p90 time.Duration, known bool)

// Estimate is when a job is going to start: if every job takes its p50, and if
// every job takes its p90, which is the later one.
type Estimate struct{ P50, P90 time.Time }

// Room is where jobs run.
type Room struct {
	Slots int
	Max   map[string]int // how many of a type may run at once; not there: any number
	Rests time.Duration  // of a slot, from a job's end to the start of the next
}

// Predict plays the policy forward from now, without new submissions, and says when each pending job starts. The
// result is empty if nothing is known of any type. Filters, limits and requests for locks at run time are not
// played: the caller leaves out the jobs that these hold. A type of which nothing is known takes the average of the
// known ones.
func Predict(pending []Job, running []RunningJob, room Room, p Policy, now time.Time, of Durations) map[ID]Estimate {
	half, most, known := averages(pending, running, of)
	if !known || room.Slots <= 0 {
		return nil
	}
	p50 := forward(pending, running, room, p, now, func(typ string) time.Duration {
		if d, _, ok := of(typ); ok {
			return d
		}
		return half
	})
	p90 := forward(pending, running, room, p, now, func(typ string) time.Duration {
		if _, d, ok := of(typ); ok {
			return d
		}
		return most
	})
	estimates := make(map[ID]Estimate, len(pending))
	for id, at := range p50 {
		later, there := p90[id]
		if !there {
			continue
		}
		if later.Before(at) { // longer jobs may let one in earlier
			later = at
		}
		estimates[id] = Estimate{at, later}
	}
	return estimates
}

// averages are those of the types that are known.
func averages(pending []Job, running []RunningJob, of Durations) (p50, p90 time.Duration, known bool) {
	n := time.Duration(0)
	count := func(typ string) {
		if a, b, ok := of(typ); ok {
			p50, p90, n = p50+a, p90+b, n+1
		}
	}
	for _, j := range pending {
		count(j.Type)
	}
	for _, j := range running {
		count(j.Type)
	}
	if n == 0 {
		return 0, 0, false
	}
	return p50 / n, p90 / n, true
}

// forward is when each pending job starts if all take as long as told.
func forward(pending []Job, running []RunningJob, room Room, p Policy, now time.Time,
	takes func(string) time.Duration) map[ID]time.Time {
	if p.Order.waitsInSlot() {
		p.Order = FIFO
	}
	s := newSimulation(p, Room{Slots: max(room.Slots, len(running))}, now)
	s.chooser.limit(room.Max, pending, running)
	for _, r := range running {
		i := len(s.jobs)
		d := takes(r.Type)
		// A job that has taken longer than expected is expected to take a while yet.
		left := max(d-now.Sub(r.Started), d/10)
		s.add(simulated{id: r.ID, Arrival: &Arrival{Type: r.Type, Locks: r.Locks}, started: r.Started})
		s.chooser.runs(r.ID, r.Locks)
		s.held.Add(r.ID, r.Locks)
		s.free--
		s.ends.push(due{now.Add(left), i})
	}
	sorted := slices.SortedFunc(slices.Values(pending), func(x, y Job) int { return cmp.Compare(x.ID, y.ID) })
	for _, j := range sorted {
		s.add(simulated{id: j.ID, arrives: now, since: j.Since,
			Arrival: &Arrival{Type: j.Type, Locks: j.Locks, Priority: j.Priority, Takes: takes(j.Type)}})
	}
	s.run()
	starts := make(map[ID]time.Time, len(pending))
	for i := len(running); i < len(s.jobs); i++ {
		if at := s.jobs[i].started; !at.IsZero() { // of a type that may not run it never starts
			starts[s.jobs[i].id] = at
		}
	}
	return starts
}
