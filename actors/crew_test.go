package actors

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// However much there is to do at once, nothing waits for another to be done, and few goroutines stay. The
// bubble ends only when all of them have.
func TestCrew_NothingWaitsAndFewStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 100
		c := newCrew()
		var done atomic.Int32
		for range 3 {
			hold := make(chan struct{})
			for range many {
				c.do(func() {
					<-hold
					done.Add(1)
				})
			}
			close(hold)
			synctest.Wait()
			if n := len(c.idle); n != crewMost {
				t.Errorf("%d wait for more, want %d", n, crewMost)
			}
		}
		if n := done.Load(); n != 3*many {
			t.Errorf("%d of %d are done", n, 3*many)
		}
		c.end()
		c.end()
		c.do(func() { done.Store(0) })
		synctest.Wait()
		if done.Load() != 0 {
			t.Error("after the end, nothing is done any more")
		}
	})
}
