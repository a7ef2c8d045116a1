//go:debug randseednop=0
package simulation

import (
	"flag"
	"math/rand"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed = flag.Uint64("seed", 0, "the one seed to play, with its whole story; 0: all")
	seeds   = flag.Uint64("seeds", 200, "how many seeds to play")
)

// play goes through the history of a seed in virtual time, and gives its story and what was wrong.
func play(t *testing.T, seed uint64, without guard) (w *world) {
	t.Helper()
	//lint:ignore SA1019 pauses of the tree are drawn from the source that all share
	rand.Seed(int64(seed))
	synctest.Test(t, func(*testing.T) {
		w = newWorld(seed, without)
		w.live()
		time.Sleep(24*time.Hour + time.Microsecond) // every timer has rung, also those of actors that have ended
	})
	return w
}

// In no history is a promise broken. A failure names its seed, which tells its story with -seed.
func TestSimulation(t *testing.T) {
	if *oneSeed != 0 {
		w := play(t, *oneSeed, "")
		t.Log(strings.Join(w.events, "\n"))
		if len(w.wrong) > 0 {
			t.Error(strings.Join(w.wrong, "\n"))
		}
		return
	}
	for seed := range *seeds {
		if w := play(t, seed+1, ""); len(w.wrong) > 0 {
			t.Errorf("%s\nthe story: go test ./simulation -run '%s$' -seed %d -v", strings.Join(w.wrong, "\n"), t.Name(), seed+1)
		}
	}
}
