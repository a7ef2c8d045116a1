package serve

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"bellhop/scheduler"
)

// A heap that has grown with the work (to five times what is in use, see
// serve) goes back to the system when the instance has come to rest: else a
// thousand children that start at once cost their garbage for ever after.
const worthResting = 16 << 20 // bytes allocated since the last time; collecting takes a few ms

// rest gives memory back whenever nothing was to do from one look to the next.
func rest(ctx context.Context, gate func() scheduler.GateState, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var last uint64
	slept := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sleeps := gate() == scheduler.GateAsleep
		metrics.Read(allocated)
		if now := allocated[0].Value.Uint64(); sleeps && slept && now-last > worthResting {
			runtime.GC() // shrinks stacks; what that frees is found by the next one
			debug.FreeOSMemory()
			last = now
		}
		slept = sleeps
	}
}
