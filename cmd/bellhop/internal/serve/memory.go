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
const (
	worthResting = 4 << 20 // bytes allocated since the last time; collecting takes a few ms
	quiet        = 1 << 20 // bytes allocated from one look to the next: a busy instance allocates more
	each         = 2 << 10 // more of both for each goroutine: children that are idle have leases and tell how they are
)

// rest gives memory back whenever nothing was to do from one look to the next; the
// first time also what the start has read of the program itself.
func rest(ctx context.Context, gate func() scheduler.GateState, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var last, before uint64
	slept, rested := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(allocated)
		now := allocated[0].Value.Uint64()
		idlers := each * uint64(runtime.NumGoroutine())
		sleeps := gate() == scheduler.GateAsleep && now-before < quiet+idlers
		if sleeps && slept && (!rested || now-last > worthResting+idlers) {
			runtime.GC() // shrinks stacks; what that frees is found by the next one
			debug.FreeOSMemory()
			if !rested {
				forgetProgram()
			}
			last, rested = now, true
		}
		slept, before = sleeps, now
	}
}
