package lasting

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
	of := NewQuotas([]port.AgentType{{Name: "few", Max: 3}, {Name: "any"}})
	for range 200 {
		var took atomic.Int64
		var hosts sync.WaitGroup
		for range 8 {
			hosts.Go(func() {
				if of.Of("few").Bounds().More() > 0 && of.Of("few").Reserve() != nil {
					took.Add(1)
				}
			})
		}
		hosts.Wait()
		if took.Load() != 3 {
			t.Fatalf("%d places were taken, want 3", took.Load())
		}
		of.Of("few").Alive.Store(0)
	}
	for range 100 {
		if of.Of("any").Reserve() == nil {
			t.Fatal("a type without a max has no room")
		}
	}
	reservation := of.Of("few").Reserve()
	of.Of("few").Release(reservation)
	of.Of("few").Release(reservation)
	of.Of("few").Release(nil)
	if n := of.Of("few").Alive.Load(); n != 0 {
		t.Errorf("given back twice, %d are counted", n)
	}
}
