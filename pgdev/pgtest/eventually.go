package pgtest

import (
	"testing"
	"time"
)

// Eventually waits until ok says yes, looking every 5 ms, and ends the test
// with reason when that takes longer than within. It is for what cannot be
// waited for by an event, such as the end of a foreign process.
func Eventually(t testing.TB, within time.Duration, reason string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			if ok() { // the machine may have been busy elsewhere
				return
			}
			t.Fatalf("not within %v: %s", within, reason)
		case <-tick.C:
		}
	}
}
