package agents

import (
	"runtime"
	"testing"
	"time"

	"bellhop/scheduler"
)

// The scheduler's own cost of a child that waits; the guard's is tested elsewhere.
func TestWarm_IdleChildIsSmall(t *testing.T) {
	const children = 100
	b := setup(t, sh(t, upper))
	before := inUse()
	start := time.Now()
	for i := range children {
		c := b.launch()
		c.await(scheduler.EventReady)
		c.feed(line(i, "x"))
		c.await(scheduler.EventAnswered)
		c.events = nil
		c.next = 0
	}
	took := time.Since(start)
	per := (inUse() - before) / children
	t.Logf("%d bytes a child; a launch with its first line takes %s", per, took/children)
	if per > 20<<10 && !raceEnabled {
		t.Errorf("an idle child takes %d bytes", per)
	}
}

func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
