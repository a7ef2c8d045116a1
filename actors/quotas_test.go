package actors

import (
	"sync"
	"sync/atomic"
	"testing"

	"bellhop/actors/port"
)

// Hosts look for room and take it on goroutines of their own: together they
// never take more than there is.
func TestQuotas_TheLastPlaceIsTakenOnce(t *testing.T) {
	t.Parallel()
	of := newQuotas([]port.AgentType{{Name: "few", Max: 3}, {Name: "any"}})
	for range 200 {
		var took atomic.Int64
		var hosts sync.WaitGroup
		for range 8 {
			hosts.Go(func() {
				if of.of("few").room() > 0 && of.of("few").reserve() != nil {
					took.Add(1)
				}
			})
		}
		hosts.Wait()
		if took.Load() != 3 {
			t.Fatalf("%d places were taken, want 3", took.Load())
		}
		of.of("few").alive.Store(0)
	}
	for range 100 {
		if of.of("any").reserve() == nil {
			t.Fatal("a type without a max has no room")
		}
	}
	reservation := of.of("few").reserve()
	of.of("few").release(reservation)
	of.of("few").release(reservation)
	of.of("few").release(nil)
	if n := of.of("few").alive.Load(); n != 0 {
		t.Errorf("given back twice, %d are counted", n)
	}
}
