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
	Slots  int
	Max    map[string]int // how many of a type may run at once; not there: any number
	Each   map[string]int // how many slots a job of a type takes; not there: one
	Rests  time.Duration  // of a slot, from a job's end to the start of the next
	Shares Shares
}

// Coming is a job that is not ready yet. It comes at its time, when those that it needs have ended; if one of these
// is not told of, never.
type Coming struct {
	Job
	At    time.Time
	Needs []ID
}

// Span is when a job runs.
type Span struct{ Start, End time.Time }

// Predict plays the policy forward from now, without new submissions, and says when each pending job starts. The
// result is empty if nothing is known of any type. Filters, limits and requests for locks at run time are not
// played: the caller leaves out the jobs that these hold. A type of which nothing is known takes the average of the
// known ones.
func Predict(pending []Job, running []RunningJob, room Room, p Policy, now time.Time, of Durations) map[ID]Estimate {
	half, most, known := averages(pending, running, of)
	if !known || room.Slots <= 0 {
		return nil
	}
	p50 := play(pending, nil, running, room, p, now, func(typ string) time.Duration {
		if d, _, ok := of(typ); ok {
			return d
		}
		return half
	})
	p90 := play(pending, nil, running, room, p, now, func(typ string) time.Duration {
		if _, d, ok := of(typ); ok {
			return d
		}
		return most
	})
	estimates := make(map[ID]Estimate, len(pending))
	for _, j := range pending {
		half, starts := p50[j.ID]
		most, starts90 := p90[j.ID]
		if starts && starts90 { // longer jobs may let one in earlier
			estimates[j.ID] = Estimate{half.Start, later(half.Start, most.Start)}
		}
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

// play is when each job runs if all take as long as told. A job that never starts is not there.
func play(pending []Job, coming []Coming, running []RunningJob, room Room, p Policy, now time.Time,
	takes func(string) time.Duration) map[ID]Span {
	if p.Order.waitsInSlot() {
		p.Order = FIFO
	}
	taken := 0
	for _, r := range running {
		taken += max(1, room.Each[r.Type])
	}
	s := newSimulation(p, Room{Slots: max(room.Slots, taken), Each: room.Each}, now)
	s.chooser.limit(room.Max, types(pending, coming), running)
	at := map[ID]int{}
	for _, r := range running {
		at[r.ID] = len(s.jobs)
		d := takes(r.Type)
		// A job that has taken longer than expected is expected to take a while yet.
		left := max(d-now.Sub(r.Started), d/10)
		s.ends.push(due{now.Add(left), len(s.jobs)})
		s.add(simulated{id: r.ID, Arrival: &Arrival{Type: r.Type, Locks: r.Locks, Takes: left}, started: now})
		s.chooser.runs(r.ID, r.Locks)
		s.held.Add(r.ID, r.Locks)
		s.free -= s.slots(r.Type)
	}
	all := make([]Coming, 0, len(pending)+len(coming))
	for _, j := range pending {
		all = append(all, Coming{Job: j, At: now})
	}
	all = append(all, coming...)
	slices.SortFunc(all, func(x, y Coming) int { return cmp.Compare(x.ID, y.ID) })
	for _, c := range all {
		at[c.ID] = len(s.jobs)
		s.add(simulated{id: c.ID, arrives: later(c.At, now), since: c.Since,
			Arrival: &Arrival{Type: c.Type, Share: c.Share, Locks: c.Locks, Priority: c.Priority, Takes: takes(c.Type)}})
	}
	s.takeTurnsBy(room.Shares)
	for _, c := range all {
		for _, need := range c.Needs {
			if n, there := at[need]; there {
				s.needs(at[c.ID], n)
			} else {
				s.jobs[at[c.ID]].lacks++
			}
		}
	}
	s.run()
	spans := make(map[ID]Span, len(s.jobs))
	for i := range s.jobs {
		if j := &s.jobs[i]; !j.started.IsZero() { // of a type that may not run it never starts
			spans[j.id] = Span{j.started, j.started.Add(j.Takes)}
		}
	}
	return spans
}

// types are jobs of each type that is to run.
func types(pending []Job, coming []Coming) []Job {
	list := slices.Clone(pending)
	for _, c := range coming {
		list = append(list, c.Job)
	}
	return list
}
