package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

var stalls = flag.Duration("stalls", 20*time.Minute, "for so long, in virtual time, instances stall again and again")

// shortest is the stall after which an instance may be silent for lag: its last heartbeat can be one period old, and a
// statement takes up to a second.
const shortest = lag - heartbeat - time.Second

// Instances stall again and again, each time a little less than may bury them, and none is buried. One that stalls for
// longer than lag is: the search does not hold because nothing can happen.
func TestStalls_BuryNoneThatAnswersInTime(t *testing.T) {
	for name, test := range map[string]struct {
		long   time.Duration // the longest stall
		period time.Duration
		buried bool
	}{
		"less than lag": {shortest, *stalls, false},
		"more than lag": {2 * lag, 5 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			var buried, many int
			synctest.Test(t, func(t *testing.T) {
				buried, many = stall(t, test.long, test.period)
				time.Sleep(time.Hour) // every timer has rung
			})
			t.Logf("%d stalls in %s, %d instances buried", many, test.period, buried)
			if (buried > 0) != test.buried {
				t.Errorf("%d instances were buried after stalls of up to %s; lag is %s", buried, test.long, lag)
			}
		})
	}
}

// stall gives how many instances were buried, and how many stalls there were.
func stall(t *testing.T, long, period time.Duration) (buried, many int) {
	t.Helper()
	w := newWorld(1, "")
	for place := range w.nodes {
		w.start(place)
	}
	dice := rand.New(rand.NewPCG(1, 1))
	time.Sleep(2 * heartbeat) // all have come up
	for began := time.Now(); time.Since(began) < period; many++ {
		n := w.nodes[dice.IntN(len(w.nodes))]
		d := time.Duration(dice.Int64N(int64(long)))
		if many%3 == 0 {
			d = long
		}
		n.stop(d)
		if many%20 == 0 { // the model's server looks at all jobs again and again: few of them keep a day short
			w.submit(&plan{name: fmt.Sprint("job ", many), takes: 100 * time.Millisecond, most: 1, needs: -1})
		}
		time.Sleep(d + 2*heartbeat + time.Duration(dice.Int64N(int64(time.Second)))) // it beats before the next one
	}
	time.Sleep(2 * lag)
	buried = run(w.server, false, func(s *server) (n int) {
		for _, m := range s.members {
			if !m.live {
				n++
			}
		}
		return n
	})
	if !w.idle() {
		t.Error("a job has not ended")
	}
	for _, text := range w.wrong {
		t.Error(text)
	}
	w.end()
	return buried, many
}
