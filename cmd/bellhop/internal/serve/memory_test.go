package serve

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler"
)

// What work has left on the heap goes back to the system, but only when there
// is no more of it.
func TestRest_GivesMemoryBackWhenNothingIsToDo(t *testing.T) {
	var gate, looks atomic.Int64
	gate.Store(int64(scheduler.GateAwake))
	go rest(t.Context(), func() scheduler.GateState { looks.Add(1); return scheduler.GateState(gate.Load()) },
		time.Millisecond)
	released := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapReleased
	}
	const work = 256 << 20
	heap := make([]byte, work)
	for i := range heap {
		heap[i] = 1
	}
	before := released()
	runtime.KeepAlive(heap)
	pgtest.Eventually(t, time.Minute, "it has looked while there was work", func() bool { return looks.Load() > 10 })
	if now := released(); now > before+work/2 {
		t.Errorf("%d MB were given back amid work", (now-before)>>20)
	}
	gate.Store(int64(scheduler.GateAsleep))
	pgtest.Eventually(t, time.Minute, "the memory is given back", func() bool { return released() > before+work/2 })
}
