package lock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Of one type and priority, the job whose turn it is starts before those with lower ids, also before those that have
// waited for long and want no lock. An aged job with locks keeps its place; other types and priorities are not touched.
func TestTurns_OrderAPass(t *testing.T) {
	t.Parallel()
	now := epoch.Add(time.Hour)
	wait := func(id ID, turn int, waited time.Duration, locks ...string) Waiting {
		return Waiting{Job: id, Type: "cat", Turn: turn, Since: now.Add(-waited), Locks: locks}
	}
	urgent := wait(9, 5, 0)
	urgent.Priority = -1
	dog := wait(4, 0, 5*time.Second)
	dog.Type = "dog"
	for name, c := range map[string]struct {
		waiting []Waiting
		want    string
	}{
		"without turns":        {[]Waiting{wait(1, 0, 0), wait(2, 0, 0), wait(3, 0, 0)}, "[1 2 3]"},
		"by turns":             {[]Waiting{wait(1, 2, 0), wait(2, 3, 0), wait(3, 1, 0)}, "[3 1 2]"},
		"no turn comes last":   {[]Waiting{wait(1, 0, 0), wait(2, 2, 0), wait(3, 1, 0)}, "[3 2 1]"},
		"old jobs":             {[]Waiting{wait(1, 2, time.Hour), wait(2, 3, time.Hour), wait(3, 1, 0)}, "[3 1 2]"},
		"old jobs with a lock": {[]Waiting{wait(1, 2, time.Hour, "a:x=exclusive"), wait(2, 3, 0, "a:y=exclusive"), wait(3, 1, 0, "a:z=exclusive")}, "[1 3 2]"},
		"priorities first":     {[]Waiting{wait(1, 2, 0), wait(3, 1, 0), urgent}, "[9 3 1]"},
		"other types":          {[]Waiting{wait(1, 2, 9*time.Second), wait(6, 1, time.Second), dog}, "[6 4 1]"},
	} {
		got := AnyLevel.Choose(Pass{Now: now, Waiting: c.waiting, Most: map[string]int{"cat": 9, "dog": 9}, Total: 9})
		var ids []ID
		for _, s := range got.Start {
			ids = append(ids, s.Job)
		}
		if fmt.Sprint(ids) != c.want {
			t.Errorf("%s: %v start, want %s", name, ids, c.want)
		}
	}
}

// Turns change which jobs start, and not how many; with one lock for each job, the first turns start.
func TestTurns_FillAllRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, room := rapid.IntRange(1, 30).Draw(t, "jobs"), rapid.IntRange(1, 30).Draw(t, "room")
		turns := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				if !yield(i + 1) {
					return
				}
			}
		})).Draw(t, "turns")
		pass := Pass{Now: epoch, Most: map[string]int{"cat": room}, Total: room}
		for i, turn := range turns {
			age := time.Duration(rapid.IntRange(0, 600).Draw(t, "age")) * time.Second
			pass.Waiting = append(pass.Waiting, Waiting{Job: ID(i + 1), Type: "cat", Share: fmt.Sprint(i % 3), Turn: turn,
				Since: epoch.Add(-age), Locks: []string{fmt.Sprintf("a:%d=exclusive", i)}})
		}
		c := AnyLevel.Choose(pass)
		if len(c.Start) != min(n, room) {
			t.Fatalf("%d of %d jobs start in %d slots", len(c.Start), n, room)
		}
		for _, s := range c.Start {
			if turn := turns[s.Job-1]; turn > room {
				t.Fatalf("the job with turn %d starts in %d slots", turn, room)
			}
		}
		sum := 0
		for _, k := range pass.TurnsTaken(c) {
			if sum += k.Starts; k.Rest != (n > room) {
				t.Fatalf("%+v, of %d jobs in %d slots", k, n, room)
			}
		}
		if sum != len(c.Start) {
			t.Fatalf("%d starts are counted, of %d", sum, len(c.Start))
		}
	})
}
