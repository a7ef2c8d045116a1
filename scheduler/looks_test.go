package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestLooks_TwiceTheSameRowWithRestInBetween(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	job := func(id JobID, row string) Unexplained { return Unexplained{Job: id, Row: row} }
	type look struct {
		rested int // of which ring; −1: it has not come to rest
		lost   []Unexplained
		seen   string  // what may be told
		passed []JobID // what is a fault
	}
	a, b := []Unexplained{job(1, "a")}, []Unexplained{job(1, "b")}
	for name, looks := range map[string][]look{ // one at 0 s, 5 s, and so on; each is over when its ring is
		"all was asked for, and it waits as before": {{-1, a, "", nil}, {-1, a, "", nil}, {4, a, "look 0", []JobID{1}},
			{9, a, "look 1", []JobID{1}}},
		"nothing is asked for": {{-1, a, "", nil}, {-1, a, "", nil}, {-1, a, "", nil}, {-1, a, "", nil}},
		"nothing was asked for since it waits": {{-1, nil, "", nil}, {-1, nil, "", nil}, {4, a, "look 0", nil}, {4, a, "", nil},
			{9, a, "", nil}, {19, a, "look 3", []JobID{1}}},
		"its row has changed meanwhile": {{-1, a, "", nil}, {-1, a, "", nil}, {4, b, "look 0", nil}, {9, b, "look 1", nil},
			{14, b, "look 2", []JobID{1}}},
		"it was not there in between": {{-1, a, "", nil}, {-1, nil, "", nil}, {4, a, "look 0", nil}, {9, a, "look 1", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all Looks
			for n, l := range looks {
				rested := time.Time{}
				if l.rested >= 0 {
					rested = at(l.rested)
				}
				if seen := all.Before(rested); seen != l.seen {
					t.Errorf("before look %d: %q is told, want %q", n, seen, l.seen)
				}
				found := Explained{Lost: l.lost, Began: fmt.Sprint("look ", n)}
				var passed []JobID
				for _, u := range all.After(found, rested, at(5*n)) {
					passed = append(passed, u.Job)
				}
				if !slices.Equal(passed, l.passed) {
					t.Errorf("look %d: passed over %v, want %v", n, passed, l.passed)
				}
			}
		})
	}
}
