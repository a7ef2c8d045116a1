package scheduler

import (
	"math/rand/v2"
	"testing"
	"time"
)

// paceRun plays rings that come with random gaps of that mean, for a while, to an
// instance that claims what comes at once; it says how often it woke.
func paceRun(mean time.Duration, length time.Duration) (woke int) {
	luck := rand.New(rand.NewPCG(1, 2))
	now := time.Unix(0, 0)
	p := WakePolicy{}.Asked(now)
	for end := now.Add(length); now.Before(end); {
		now = now.Add(time.Duration(luck.ExpFloat64() * float64(mean)))
		var rush bool
		if p, rush, _ = p.Rang(now); rush {
			woke++
			p = p.Woke(now).Asked(now)
		}
		p, _ = p.Took(1)
	}
	return woke
}

func TestPace_WakesForARushOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mean        time.Duration
		least, most int // in ten seconds
	}{
		{time.Second, 0, 0},
		{10 * time.Millisecond, 0, 0},
		{2 * time.Millisecond, 0, 0},        // 500 a second: rings are cheap, and come sooner than a look
		{time.Millisecond, 0, 5},            // 1000
		{250 * time.Microsecond, 100, 5000}, // 4000: what 16 producers reach that have to ring
	} {
		if woke := paceRun(c.mean, 10*time.Second); woke < c.least || woke > c.most {
			t.Errorf("rings every %v: it woke %d times, want %d to %d", c.mean, woke, c.least, c.most)
		}
	}
}

// Where producers are slow because they ring, there is no rush to be seen.
func TestWakePolicy_LooksForContentionAndWakesForIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gap         time.Duration
		least, most int // looks in a second
	}{{50 * time.Millisecond, 0, 0}, {20 * time.Millisecond, 0, 0}, {5 * time.Millisecond, 15, 20},
		{time.Millisecond, 15, 20}} {
		now, looks := time.Unix(0, 0), 0
		p := WakePolicy{}.Asked(now)
		for end := now.Add(time.Second); now.Before(end); now = now.Add(c.gap) {
			var look bool
			if p, _, look = p.Rang(now); look {
				looks++
			}
		}
		if looks < c.least || looks > c.most {
			t.Errorf("rings every %v: %d looks, want %d to %d", c.gap, looks, c.least, c.most)
		}
	}
	var wake bool
	p := WakePolicy{}
	for i, c := range []struct{ is, wake bool }{{true, false}, {false, false}, {true, false}, {true, true}} {
		if p, wake = p.Contended(c.is); wake != c.wake {
			t.Errorf("look %d: wake %v", i+1, wake)
		}
	}
}

func TestPace_AwakeAsLongAsMuchComes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		took  int // every ms
		full  bool
		quiet bool // within a second
	}{{0, false, true}, {1, false, false}, {10, false, false}, {0, true, false}} {
		now := time.Unix(0, 0)
		p := WakePolicy{}.Woke(now)
		if c.full {
			p, _ = p.Full(now)
		}
		quiet := false
		for range 1000 {
			now = now.Add(time.Millisecond)
			if c.took > 0 {
				p, _ = p.Took(c.took)
			}
			var is bool
			p, is = p.Quiet(now)
			quiet = quiet || is
		}
		if quiet != c.quiet {
			t.Errorf("%+v: calm %v", c, quiet)
		}
	}
}

// Woken again and again for nothing, it stays awake longer each time, up to a
// bound, and forgets that when it has slept for a while.
func TestPace_StaysAwakeLongerWhenWokenAgain(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	p := WakePolicy{}
	awake := func() (d time.Duration) {
		p = p.Woke(now)
		began := now
		for quiet := false; !quiet; p, quiet = p.Quiet(now) {
			now = now.Add(time.Millisecond)
		}
		p = p.Asked(now)
		return now.Sub(began)
	}
	for _, want := range []time.Duration{16, 32, 64, 128, 256, 256} {
		if got := awake(); got != want*time.Millisecond {
			t.Errorf("awake for %v, want %v ms", got, want)
		}
		now = now.Add(10 * time.Millisecond)
	}
	now = now.Add(time.Second)
	if got := awake(); got != wakeWindow {
		t.Errorf("after a long sleep: awake for %v", got)
	}
}

func TestPace_FullWakesOnlyWhenItLasts(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	p, wake := WakePolicy{}.Full(now)
	if wake {
		t.Error("woke at once")
	}
	if p, wake = p.Full(now.Add(wakeFull)); !wake {
		t.Error("did not wake")
	}
	p, sooner := p.Took(0)
	if !sooner {
		t.Error("a look that comes after a long pause is not made sooner")
	}
	if _, wake = p.Full(now.Add(2 * wakeFull)); wake {
		t.Error("it was not full in between")
	}
}

func TestPace_Pauses(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	most := func(p WakePolicy, s GateState, at time.Time) (d time.Duration) {
		for range 20 {
			p, d = p.Pause(s, at)
		}
		return d
	}
	awake, asking := WakePolicy{}.Woke(now), WakePolicy{}.Asked(now)
	full, _ := awake.Full(now)
	fresh, _ := awake.Took(1)
	_, first := fresh.Pause(GateAwake, now)
	for _, c := range []struct {
		name      string
		got, want time.Duration
	}{
		{"after a find", first, wakeQuick},
		{"nothing comes", most(awake, GateAwake, now), wakeSlow},
		{"no room", most(full, GateAwake, now), wakeLong},
		{"no gate to be had", most(awake.Refused(now), GateAwake, now), wakeLong},
		{"just asked", most(asking, GateAsking, now), wakeQuick},
		{"asked a while ago", most(asking, GateAsking, now.Add(time.Second)), wakeAsk},
		{"asked an hour ago", most(asking, GateAsking, now.Add(time.Hour)), wakeLong},
		{"asked anew after an hour", most(asking.Again(now.Add(time.Hour)), GateAsking, now.Add(time.Hour)), wakeSlow},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
