package lock

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tenSeconds is what every job takes.
func tenSeconds(string) (p50, p90 time.Duration, known bool) {
	return 10 * time.Second, 20 * time.Second, true
}

// stage is a scene at a moment, with one slot for each job.
func stage(jobs ...Seen) Scene {
	now := time.Unix(1000, 0)
	for i := range jobs {
		jobs[i].Since, jobs[i].Started = now.Add(-time.Minute), now
	}
	return Scene{Policy: AnyLevel, Slots: 10, Jobs: jobs, Now: now}
}

// after is how long after the scene jobs start, half of the time.
func (s Scene) after(id ID) string {
	e, known := s.Starts(tenSeconds)[id]
	if !known {
		return "not known"
	}
	return fmt.Sprintf("%s, %s", e.P50.Sub(s.Now), e.P90.Sub(s.Now))
}

func TestScene_ForetellsWhoWaits(t *testing.T) {
	t.Parallel()
	s := stage(
		Seen{Job: 1, Holds: true, Locks: []string{"customer:42=exclusive"}},
		Seen{Job: 2, Place: 1, Behind: "customer:42", Locks: []string{"customer:42=exclusive"}},
		Seen{Job: 3, Place: 2, Behind: "customer:42", Locks: []string{"customer:42=exclusive"}},
		Seen{Job: 4, Place: 1},
		Seen{Job: 5, Behind: "customer:42"}, // far behind
		Seen{Job: 6, Place: 1, Behind: "rate-limit:1:mail"},
		Seen{Job: 7, Place: 1, Behind: "filter:upgrade"},
		Seen{Job: 8, Place: 1, Behind: "paused:upgrade"},
		Seen{Job: 9, Place: 1, Behind: "unreadable:*", Locks: []string{"what is this"}},
		Seen{Job: 10, Place: 3, Behind: "customer:42", Locks: []string{"customer:43=exclusive", "customer:42=shared"}},
	)
	for id, want := range map[ID]string{2: "10s, 20s", 3: "20s, 40s", 4: "0s, 0s", 5: "not known", 6: "not known", 7: "not known",
		8: "not known", 9: "not known", 10: "30s, 1m0s", 11: "not known"} {
		if got := s.after(id); got != want {
			t.Errorf("job %d starts after %s, and not %s", id, got, want)
		}
	}
}

// The policy that is obeyed is the one that foretells: with fifo the light one waits for its turn.
func TestScene_ForetellsByThePolicyOfTheScene(t *testing.T) {
	t.Parallel()
	s := stage(
		Seen{Job: 1, Holds: true, Locks: []string{"a:x=exclusive"}},
		Seen{Job: 2, Place: 1, Locks: []string{"a:*=shared", "b:1=exclusive"}, Behind: "a:x"},
		Seen{Job: 3, Place: 1, Locks: []string{"b:1=exclusive"}},
	)
	s.Slots = 2
	s.Policy.Constants.AgeingTicks = 0
	if got := s.after(3); got != "0s, 0s" {
		t.Errorf("nobody is reserved for: %s", got)
	}
	s.Policy.Constants.AgeingTicks = 1
	if got := s.after(3); got != "20s, 40s" {
		t.Errorf("job 2 has aged, and is reserved for: %s", got)
	}
}

// Jobs without locks take slots, and those that come first in the order will; they weigh nothing for others.
func TestScene_HeedsWhoHasNoLocks(t *testing.T) {
	t.Parallel()
	s := stage(
		Seen{Job: 1, Beside: true, Holds: true},
		Seen{Job: 2, Beside: true, Place: 1},
		Seen{Job: 3, Place: 1, Locks: []string{"a:x=exclusive"}},
	)
	s.Slots = 1
	if got := s.after(3); got != "20s, 40s" {
		t.Errorf("behind one that runs and one that waits: %s", got)
	}
	if w, _ := s.Weigh(3); w.SPV != 1 {
		t.Errorf("beside who has no locks: %+v", w)
	}
}

// No more of a type run than may.
func TestScene_HeedsHowManyOfATypeMayRun(t *testing.T) {
	t.Parallel()
	s := stage(
		Seen{Job: 1, Type: "mail", Holds: true, Locks: []string{"a:1=exclusive"}},
		Seen{Job: 2, Type: "mail", Place: 1, Locks: []string{"a:2=exclusive"}},
		Seen{Job: 3, Type: "mail", Place: 1, Locks: []string{"a:1=exclusive"}, Behind: "a:1"},
		Seen{Job: 4, Type: "mail", Place: 1, Locks: []string{"a:4=exclusive"}},
		Seen{Job: 5, Type: "other", Place: 1, Locks: []string{"a:5=exclusive"}},
	)
	s.Max = map[string]int{"mail": 1}
	for id, want := range map[ID]string{2: "10s, 20s", 3: "20s, 40s", 4: "30s, 1m0s", 5: "0s, 0s"} {
		if got := s.after(id); got != want {
			t.Errorf("job %d starts after %s, and not %s", id, got, want)
		}
	}
	s.Max["mail"] = 0 // it is not served any more: when it is, nobody knows
	if got := s.after(2); got != "not known" {
		t.Errorf("of a type that may not run: %s", got)
	}
}

func TestScene_WeighsBesideThoseThatHold(t *testing.T) {
	t.Parallel()
	s := stage(
		Seen{Job: 1, Holds: true, Locks: []string{"customer:42=exclusive"}},
		Seen{Job: 2, Place: 1, Behind: "customer:42", Locks: []string{"customer:42=exclusive"}},
		Seen{Job: 3, Place: 1, Behind: "x:*", Locks: []string{"?"}},
	)
	s.Policy.Constants.AgeingTicks = 0
	if w, known := s.Weigh(2); !known || w.Weight != 4 {
		t.Errorf("%+v", w)
	}
	s.Policy.Constants.AgeingTicks = 4 // of 30 s: half of it is over
	if w, _ := s.Weigh(2); w.Weight != 2 {
		t.Errorf("%+v", w)
	}
	s.Policy.Levels = Levels{"node"}
	if w, _ := s.Weigh(2); w.SPV != 1 {
		t.Errorf("a level that is not configured weighs nothing: %+v", w)
	}
	for _, id := range []ID{3, 4} {
		if w, known := s.Weigh(id); known {
			t.Errorf("job %d: %+v", id, w)
		}
	}
}

// BenchmarkScene is a forecast for 10,000 jobs that wait behind 100 locks, with 200 running.
func BenchmarkScene(b *testing.B) {
	for _, kind := range []string{"same_age", "aged", "ages", "bounded"} {
		b.Run(kind, func(b *testing.B) {
			s := stage()
			for i := range 200 {
				s.Jobs = append(s.Jobs, Seen{Job: ID(i + 1), Type: "work", Holds: true, Started: s.Now,
					Locks: []string{fmt.Sprintf("customer:%d=exclusive", i)}})
			}
			for i := range 10_000 {
				since := s.Now
				switch kind {
				case "aged":
					since = since.Add(-24 * time.Hour)
				case "ages":
					since = since.Add(-time.Duration(i) * time.Second)
				}
				s.Jobs = append(s.Jobs, Seen{Job: ID(1000 + i), Type: "work", Place: 1 + i/100, Since: since,
					Locks: []string{fmt.Sprintf("customer:%d=exclusive", i%100)}, Behind: fmt.Sprintf("customer:%d", i%100)})
			}
			s.Slots = 200
			if kind == "bounded" {
				s.Max = map[string]int{"work": 150}
			}
			for b.Loop() {
				if n := len(s.Starts(tenSeconds)); n != 10_000 {
					b.Fatal(n)
				}
			}
		})
	}
}

// However jobs are forbidden to run beside each other, never more of a type run at
// once than may, and each runs in the end.
func TestPredict_NeverMoreOfATypeThanMay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		arriving := arrivals(30).Draw(t, "jobs")
		pending := make([]Job, len(arriving))
		for i, a := range arriving {
			pending[i] = Job{ID: ID(i + 1), Type: string("xyz"[i%3]), Locks: a.Locks, Priority: a.Priority,
				Share: a.Share, Since: epoch}
		}
		room := Room{Slots: rapid.IntRange(1, 5).Draw(t, "slots"), Max: map[string]int{"x": 1, "y": 2}}
		starts := Predict(pending, nil, room, quick(Predictive), epoch, tenSeconds)
		if len(starts) != len(pending) {
			t.Fatalf("%d of %d start", len(starts), len(pending))
		}
		for id, e := range starts {
			of := map[string]int{}
			for other, o := range starts {
				if !o.P50.After(e.P50) && o.P50.Add(10*sec).After(e.P50) {
					of[pending[other-1].Type]++
				}
			}
			if of["x"] > 1 || of["y"] > 2 || of["x"]+of["y"]+of["z"] > room.Slots {
				t.Fatalf("%v run beside %d", of, id)
			}
		}
	})
}

// The place is that of the start, and not that of (priority, id): who is told third starts third.
func TestScene_PlaceIsByWhenTheyStart(t *testing.T) {
	t.Parallel()
	waits := func(id ID, place int) Seen {
		return Seen{Job: id, Place: place, Behind: "db:a", Locks: []string{"db:a=exclusive"}}
	}
	holds := Seen{Job: 1, Holds: true, Locks: []string{"db:a=exclusive"}}
	s := stage(holds, waits(2, 4), waits(3, 3), waits(4, 2), waits(5, 1))
	s.Jobs[4].Priority = -1
	starts := s.Starts(tenSeconds)
	for id, want := range map[ID]int{5: 1, 2: 2, 3: 3, 4: 4, 99: 0} {
		if got := s.Place(id, starts); got != want {
			t.Errorf("job %d is told place %d, want %d: it starts %s after", id, got, want, s.after(id))
		}
	}
}

// Where nothing is known of the jobs in the way, there is no forecast.
func TestScene_UnheardTypes(t *testing.T) {
	t.Parallel()
	s := stage(
		Seen{Job: 1, Type: "new", Holds: true, Locks: []string{"db:a=exclusive"}},
		Seen{Job: 2, Type: "old", Place: 1, Behind: "db:a", Locks: []string{"db:a=exclusive"}},
		Seen{Job: 3, Type: "old", Place: 1, Locks: []string{"db:b=exclusive"}},
		Seen{Job: 4, Type: "own", Place: 1, Locks: []string{"db:c=exclusive"}},
	)
	old := func(typ string) (p50, p90 time.Duration, known bool) {
		return time.Second, time.Second, typ == "old"
	}
	for id, want := range map[ID]string{2: "new", 3: "", 4: "own", 99: ""} {
		if got := s.Unheard(id, old); got != want {
			t.Errorf("of what keeps job %d waiting nothing is known of %q, want %q", id, got, want)
		}
	}
}
