package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var fiveInFive = RespawnPolicy{Deaths: 5, Window: 5 * time.Minute}

func TestRespawn_FiveDeathsInFiveMinutesBarTheTypeThenOneProbe(t *testing.T) {
	t.Parallel()
	var r Respawn
	now := noon
	for i := 1; i <= 4; i++ {
		if r = r.Died(fiveInFive, now, 0); r.Barred {
			t.Fatalf("barred after %d deaths", i)
		}
		now = now.Add(time.Minute)
	}
	r = r.Died(fiveInFive, now, 0)
	if !r.Barred {
		t.Fatal("not barred after 5 deaths in 4 minutes")
	}
	if n, again := r.May(0, now.Add(5*time.Minute-1)); n != 0 || !again.Equal(now.Add(5*time.Minute)) {
		t.Errorf("a moment before the bar ends: %d may come up, ask again at %s", n, again)
	}
	now = now.Add(5 * time.Minute)
	if n, _ := r.May(0, now); n != 1 {
		t.Errorf("%d probes, want one", n)
	}
	if n, _ := r.May(1, now); n != 0 {
		t.Errorf("%d more beside the probe", n)
	}
	if r = r.Died(fiveInFive, now, 0); !r.Barred || !r.NextAt.Equal(now.Add(5*time.Minute)) {
		t.Errorf("the probe died: barred %v until %s", r.Barred, r.NextAt)
	}
	if n, _ := r.Proved().May(40, now); n < 1000 {
		t.Errorf("after a finished line only %d may come up", n)
	}
}

func TestRespawn_DeathsLongAgoDoNotBar(t *testing.T) {
	t.Parallel()
	var r Respawn
	now := noon
	for range 100 {
		if r = r.Died(fiveInFive, now, 0); r.Barred {
			t.Fatalf("barred, though the deaths are %s apart", 75*time.Second)
		}
		now = now.Add(75 * time.Second) // four in any five minutes
	}
	if len(r.Deaths) > 5 {
		t.Errorf("it remembers %d deaths", len(r.Deaths))
	}
}

func TestRespawn_AFinishedLineResetsTheCount(t *testing.T) {
	t.Parallel()
	var r Respawn
	for i := range 10_000 { // a bad input now and then among many good ones
		if r = r.Died(fiveInFive, noon.Add(time.Duration(i)*time.Millisecond), 0.5); r.Barred {
			t.Fatalf("barred at death %d", i+1)
		}
		r = r.Proved()
	}
}

func TestRespawn_ThePauseGrowsFromTheSecondDeathOn(t *testing.T) {
	t.Parallel()
	var r Respawn
	never := RespawnPolicy{Deaths: 0, Window: 5 * time.Minute} // 0: no bar
	want := []time.Duration{0, 1, 2, 4, 8, 16, 30, 30}
	for i, pause := range want {
		r = r.Died(never, noon, 0)
		if got := r.NextAt.Sub(noon); got != pause*time.Second {
			t.Errorf("after death %d: %s, want %ds", i+1, got, pause)
		}
	}
}

// Law: respawns after the first are at least a second apart, one child at a
// time, and however often a type dies there are never more than a handful of
// starts in five minutes.
func TestRespawn_ATypeThatAlwaysDiesIsStartedSeldom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r Respawn
		var starts []time.Time
		now := noon
		for now.Before(noon.Add(time.Hour)) {
			n, again := r.May(0, now)
			if n == 0 {
				if !again.After(now) {
					t.Fatalf("none may come up, and it is to be asked again at %s, not after %s", again, now)
				}
				now = again
				continue
			}
			if len(starts) > 0 && n != 1 {
				t.Fatalf("%d may come up at once after a death", n)
			}
			starts = append(starts, now)
			now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "life in ms")) * time.Millisecond)
			r = r.Died(fiveInFive, now, luck.Draw(t, "u"))
		}
		for i := range starts {
			if i >= 2 && starts[i].Sub(starts[i-1]) < time.Second {
				t.Fatalf("start %d came %s after the last", i+1, starts[i].Sub(starts[i-1]))
			}
			if i >= 5 && starts[i].Sub(starts[i-5]) < fiveInFive.Window {
				t.Fatalf("6 starts within %s", starts[i].Sub(starts[i-5]))
			}
		}
		if len(starts) < 12 {
			t.Fatalf("only %d starts in an hour: probes are missing", len(starts))
		}
	})
}
