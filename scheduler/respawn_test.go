package scheduler

import (
	"strings"
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
		if r = r.Died(fiveInFive, now, 0); r.Tripped {
			t.Fatalf("barred after %d deaths", i)
		}
		now = now.Add(time.Minute)
	}
	r = r.Died(fiveInFive, now, 0)
	if !r.Tripped {
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
	if r = r.Died(fiveInFive, now, 0); !r.Tripped || !r.NextAt.Equal(now.Add(5*time.Minute)) {
		t.Errorf("the probe died: barred %v until %s", r.Tripped, r.NextAt)
	}
	if n, _ := r.Healthy().May(40, now); n < 1000 {
		t.Errorf("after a finished line only %d may come up", n)
	}
}

func TestRespawn_DeathsLongAgoDoNotBar(t *testing.T) {
	t.Parallel()
	var r Respawn
	now := noon
	for range 100 {
		if r = r.Died(fiveInFive, now, 0); r.Tripped {
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
		if r = r.Died(fiveInFive, noon.Add(time.Duration(i)*time.Millisecond), 0.5); r.Tripped {
			t.Fatalf("barred at death %d", i+1)
		}
		r = r.Healthy()
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

// TestRespawn_StartsThatFail: what a type is told, and how many children it may
// have, while none has come up, has, and does not any more.
func TestRespawn_StartsThatFail(t *testing.T) {
	t.Parallel()
	const many = 1 << 30
	type step struct {
		after time.Duration // since the last
		what  string
		may   int    // beside none, right after it or when it may be asked again
		told  string // a part of it; "": nothing is told
		bars  bool
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"none that says OK: one at a time, told after the first, barred though they are minutes apart", []step{
			{time.Minute, "not up", 1, "since 1970-01-12 13:47:40 UTC (1 try): silent", false},
			{time.Minute, "not up", 1, "since 1970-01-12 13:47:40 UTC (2 tries): silent", false},
			{time.Minute, "not up", 1, "(3 tries): silent", false},
			{time.Minute, "not up", 1, "(4 tries): silent", false},
			{10 * time.Minute, "not up", 1, "(5 tries): silent; its agent is started again at 1970-01-12 14:05:40 UTC", true},
			{time.Hour, "not up", 1, "(6 tries): silent", true},
			{time.Minute, "OK", 1, "", false},
			{time.Minute, "line", many, "", false}}},
		{"an OK at once: as many as there is work for", []step{{0, "OK", many, "", false}}},
		{"an OK ends the row", []step{
			{0, "not up", 1, "(1 try)", false}, {time.Minute, "OK", 1, "", false}, {time.Hour, "not up", 1, "since 1970-01-12 14:47:40 UTC (1 try)", false}}},
		{"a type that was up and comes up no more is barred too", []step{
			{0, "OK", many, "", false}, {0, "line", many, "", false},
			{time.Hour, "not up", 1, "(1 try)", false}, {time.Hour, "not up", 1, "(2 tries)", false}, {time.Hour, "not up", 1, "(3 tries)", false},
			{time.Hour, "not up", 1, "(4 tries)", false}, {time.Hour, "not up", 1, "(5 tries)", true}}},
		{"deaths at work are told when they bar", []step{
			{0, "OK", many, "", false}, {0, "died", 1, "", false}, {0, "died", 1, "", false}, {0, "died", 1, "", false}, {0, "died", 1, "", false},
			{0, "died", 1, "5 children died while they worked, the last with: silent; its agent is started again at 1970-01-12 13:51:40 UTC", true},
			{time.Hour, "OK", 1, "5 children died while they worked, the last with: silent", true}, {0, "line", many, "", false}}},
	} {
		var r Respawn
		now := time.Unix(1_000_000, 0).UTC()
		if n, _ := r.May(0, now); n != 1 {
			t.Errorf("%s: at first %d may come up", c.name, n)
		}
		for i, s := range c.steps {
			now = now.Add(s.after)
			switch s.what {
			case "not up":
				r = r.NotUp(fiveInFive, now, 0)
			case "died":
				r = r.Died(fiveInFive, now, 0)
			case "OK":
				r = r.SaidOK()
			case "line":
				r = r.Healthy()
			}
			n, again := r.May(0, now)
			if n == 0 {
				n, _ = r.May(0, again)
			}
			if told := r.Trouble(Account{Reason: "silent"}).Reason; n != s.may || r.Tripped != s.bars ||
				!strings.Contains(told, s.told) ||
				(told == "") != (s.told == "") {
				t.Errorf("%s, step %d (%s): %d may come up, barred %t, told %q; want %d, %t, %q", c.name, i+1, s.what, n, r.Tripped,
					told, s.may, s.bars, s.told)
			}
		}
	}
}

// TestRespawn_AGuardThatDies: it bars no type and counts no death, and still
// what it guarded does not run again and again without a pause.
func TestRespawn_AGuardThatDies(t *testing.T) {
	t.Parallel()
	const many = 1 << 30
	died := func(r Respawn, now time.Time) Respawn {
		r.Guards = r.Guards.Died(now, 0)
		return r
	}
	r, now := Respawn{Up: true}, noon
	for i, pause := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30, 30} {
		r = died(r, now)
		n, again := r.May(0, now)
		if pause *= time.Second; pause == 0 && n != many || pause > 0 && (n != 0 || again.Sub(now) != pause) {
			t.Errorf("after the guard that died as number %d: %d may come up, the next after %s; want %s", i+1, n,
				again.Sub(now), pause)
		}
		if r.Tripped || r.InARow > 0 || len(r.Deaths) > 0 || r.Trouble(Account{Reason: "x"}) != (Account{}) {
			t.Errorf("it counts as a death: %+v", r)
		}
		before := r
		if r = died(r, now.Add(pause/2)); pause > 0 && r.Guards != before.Guards {
			t.Errorf("one that died within the pause is news: %+v, then %+v", before.Guards, r.Guards)
		}
		now = now.Add(pause) // and dies again at once
	}
	if p := r.Died(fiveInFive, now, 0).Healthy(); p.Guards != r.Guards {
		t.Errorf("a line that another child finished ends the pause: %+v", p.Guards)
	}
	barred := r
	for range 5 {
		barred = barred.Died(fiveInFive, now, 0)
	}
	if !barred.Tripped || barred.Guards != r.Guards {
		t.Errorf("a bar ends the pause: %+v", barred)
	}
	if r = died(r, r.Guards.NextAt.Add(guardSteady)); r.Guards.InARow != 1 {
		t.Errorf("after a steady minute there are %d in a row", r.Guards.InARow)
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
			r = r.Died(fiveInFive, now, luck().Draw(t, "u"))
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
