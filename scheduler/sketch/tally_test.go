package sketch

import (
	"sync"
	"testing"
	"time"
)

// Whoever counts, and however often what was counted is taken along, nothing is lost.
func TestTally_LosesNothing(t *testing.T) {
	t.Parallel()
	var tally Tally
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 1000 {
				tally.Count("mail", time.Second)
			}
		})
	}
	var sum, one Sketch
	one.Add(time.Second)
	take := func() {
		if s := tally.Take()["mail"]; s != nil {
			sum.Merge(*s)
		}
	}
	for range 100 {
		take()
		tally.GiveBack(map[string]*Sketch{"mail": &one})
	}
	wait.Wait()
	take()
	if sum.N() != 4100 {
		t.Errorf("%d", sum.N())
	}
	if len(tally.Take()) != 0 {
		t.Error("it was taken along")
	}
}
