package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSuspects(t *testing.T) {
	t.Parallel()
	type death struct {
		guard int
		job   JobID
		after time.Duration
		count int
	}
	const long = 10 * time.Second
	for _, c := range []struct {
		name string
		all  []death
	}{
		{"one that does it three times", []death{{1, 7, long, 1}, {2, 7, long, 2}, {3, 7, long, 3}}},
		{"its neighbour is suspected once", []death{{1, 7, long, 1}, {1, 8, 0, 1}, {2, 7, long, 2}, {3, 7, long, 3}}},
		{"one that does it twice within a moment", []death{{1, 7, long, 1}, {2, 7, diedTogether - 1, 2}, {3, 7, long, 3}}},
		{"guards that die together name nobody", []death{{1, 7, long, 1}, {2, 8, diedTogether - 1, 0}, {3, 7, long, 1}, {4, 8, long, 1}}},
		{"nor the third time", []death{{1, 7, long, 1}, {2, 7, long, 2}, {3, 8, long, 1}, {4, 7, 0, 2}, {5, 7, long, 3}}},
		{"after its end it begins anew", []death{{1, 7, long, 1}, {2, 7, long, 2}, {3, 7, long, 3}, {4, 7, long, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Suspects
			now := noon
			for i, d := range c.all {
				now = now.Add(d.after)
				if s.Alone(LineID{Job: d.job}, now) && i == 0 {
					t.Error("it is suspected before")
				}
				if got := s.Died(d.guard, LineID{Job: d.job}, now); got != d.count {
					t.Errorf("death %d: job %d has %d, want %d", i, d.job, got, d.count)
				}
				if !s.Alone(LineID{Job: d.job}, now) || s.Alone(LineID{Job: d.job}, now.Add(suspectFor)) {
					t.Error("it runs alone for an hour")
				}
			}
		})
	}
}

// Whatever runs together: who kills guards is found after three deaths, and who
// was beside a killer is lost no more than once for it, and never taken for one.
func TestSuspects_FindTheKillersAndNoOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Suspects
		now, guard := noon, 0
		kills := map[JobID]bool{}
		for job := range JobID(rapid.IntRange(2, 8).Draw(t, "jobs")) {
			kills[job] = rapid.Bool().Draw(t, "kills")
		}
		did, lost, over := map[JobID]int{}, map[JobID]map[JobID]int{}, map[JobID]bool{}
		for range 60 {
			now = now.Add(2 * diedTogether)
			killer := rapid.SampledFrom([]JobID{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "the next to be at it")
			if !kills[killer] || over[killer] {
				continue
			}
			guard++
			beside := []JobID{killer}
			if !s.Alone(LineID{Job: killer}, now) {
				for job := range kills {
					if job != killer && !over[job] && !s.Alone(LineID{Job: job}, now) && rapid.Bool().Draw(t, "is beside it") {
						beside = append(beside, job)
					}
				}
			}
			did[killer]++
			for _, job := range beside {
				deaths := s.Died(guard, LineID{Job: job}, now)
				if job == killer {
					over[job] = deaths >= GuardDeaths
					continue
				}
				if lost[job] == nil {
					lost[job] = map[JobID]int{}
				}
				if lost[job][killer]++; lost[job][killer] > 1 {
					t.Fatalf("job %d is lost %d times for job %d", job, lost[job][killer], killer)
				}
				if deaths >= GuardDeaths {
					t.Fatalf("job %d, which was beside job %d, is taken for a killer", job, killer)
				}
			}
			if over[killer] != (did[killer] >= GuardDeaths || over[killer]) || did[killer] >= GuardDeaths && !over[killer] {
				t.Fatalf("job %d has killed %d guards, and is at large", killer, did[killer])
			}
		}
	})
}
