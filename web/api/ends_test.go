package api

import (
	"testing"

	"bellhop/scheduler"
)

// Whoever waits for a job is told of it, and of no other; who has gone costs nothing any more.
func TestEnds_TellWhoWaits(t *testing.T) {
	t.Parallel()
	var e ends
	if e.Awaited() {
		t.Error("somebody waits before anybody does")
	}
	one, deaf := e.await(1)
	same, gone := e.await(1)
	other, quiet := e.await(2)
	e.Over([]scheduler.JobID{3, 1, 1})
	for name, c := range map[string]<-chan struct{}{"one": one, "the same": same} {
		select {
		case <-c:
		default:
			t.Errorf("%s is not told", name)
		}
	}
	select {
	case <-other:
		t.Error("the other is told of what is none of its")
	default:
	}
	deaf()
	gone()
	e.Over([]scheduler.JobID{1})
	select {
	case <-one:
		t.Error("who has gone is told")
	default:
	}
	quiet()
	if e.Awaited() || len(e.of) > 0 {
		t.Errorf("nobody waits, and %v is kept", e.of)
	}
}
