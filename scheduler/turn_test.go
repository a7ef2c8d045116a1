package scheduler

import (
	"testing"
	"time"
)

func TestTurnPause(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name             string
		was              time.Duration
		turn             Turn
		took, since, now time.Duration
	}{
		{"nothing is found: seldom", 4 * ms, Turn{}, ms, 5 * ms, 8 * ms},
		{"and not ever more seldom", 64 * ms, Turn{}, ms, 70 * ms, 64 * ms},
		{"the first rows: at once", 64 * ms, Turn{}.Add(4, 0, 0), 10 * ms, time.Hour, 4 * ms},
		{"none taken ahead: at once", 4 * ms, Turn{}.Add(4, 4, 0), 10 * ms, 14 * ms, 4 * ms},
		{"a stock: three times as long as it took", 4 * ms, Turn{}.Add(10, 10, 256), 15 * ms, 40 * ms, 45 * ms},
		{"which is bounded by half of what the stock lasts", 4 * ms, Turn{}.Add(10, 10, 20), 30 * ms, 40 * ms, 40 * ms},
		{"and in itself", 4 * ms, Turn{}.Add(10, 10, 256), time.Second, time.Second, 64 * ms},
		{"the table with the smaller stock counts", 4 * ms, Turn{}.Add(10, 10, 256).Add(0, 0, 0).Add(10, 10, 0), 30 * ms, 40 * ms, 4 * ms},
	} {
		if got := TurnPause(c.was, c.turn, c.took, c.since); got != c.now {
			t.Errorf("%s: %s, want %s", c.name, got, c.now)
		}
	}
}
