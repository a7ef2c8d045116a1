package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScaleUp_Worth(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		what string
		b    ScaleUp
		want int
	}{
		{"nothing waits", ScaleUp{Warm: 1, Line: ms, Start: 50 * ms}, 0},
		{"nobody has ever come up: Respawn decides", ScaleUp{Lines: 4}, 4},
		{"what a line takes is not known: one comes first", ScaleUp{Lines: 4, Start: 50 * ms}, 1},
		{"and the others wait for it", ScaleUp{Lines: 4, Coming: 1, Start: 50 * ms, Shortage: Shortage{OnEnd: time.Second}}, 0},
		{"it is up, and has not said a word yet", ScaleUp{Lines: 3, Warm: 1, Start: 50 * ms, Shortage: Shortage{OnEnd: 49 * ms}}, 0},
		{"it has the first line for longer than a start takes", ScaleUp{Lines: 3, Warm: 1, Start: 50 * ms, Shortage: Shortage{OnEnd: 50 * ms}}, 3},
		{"a warm child finishes them sooner than a process starts", ScaleUp{Lines: 3, Warm: 1, Line: 10 * ms, Start: 50 * ms}, 0},
		{"and does not, after all", ScaleUp{Lines: 3, Warm: 1, Line: 10 * ms, Start: 50 * ms, Shortage: Shortage{OnEnd: 50 * ms}}, 3},
		{"three lines of a second, and one at work on another", ScaleUp{Lines: 3, Warm: 1, Line: 100 * ms, Start: 50 * ms}, 3},
		{"none is up, the lines are short", ScaleUp{Lines: 4, Line: ms, Start: 50 * ms}, 1},
		{"none is up, the lines are long", ScaleUp{Lines: 4, Line: 100 * ms, Start: 50 * ms}, 4},
		{"a start of a minute is waited for no longer than 100 ms", ScaleUp{Lines: 2, Warm: 1, Line: ms, Start: time.Minute, Shortage: Shortage{OnEnd: 100 * ms}}, 2},
		{"by and by they were short for a quarter of a start", ScaleUp{Lines: 2, Behind: 3, Warm: 2, Line: ms, Start: 40 * ms, Spare: 9,
			Shortage: Shortage{InAll: 10 * ms}}, 2},
		{"the lines that wait are with the children", ScaleUp{Behind: 3, Warm: 1, Line: ms, Start: 40 * ms, Spare: 2,
			Shortage: Shortage{InAll: 10 * ms}}, 1},
		{"none waits any more", ScaleUp{Warm: 2, Line: ms, Start: 40 * ms, Spare: 2, Shortage: Shortage{InAll: 10 * ms}}, 0},
		{"not yet for as long", ScaleUp{Lines: 2, Warm: 2, Line: ms, Start: 40 * ms, Spare: 2, Shortage: Shortage{InAll: 9 * ms}}, 0},
		{"one comes up already", ScaleUp{Lines: 2, Warm: 2, Coming: 1, Line: ms, Start: 40 * ms, Spare: 2,
			Shortage: Shortage{InAll: 10 * ms}}, 0},
		{"another type would have no slot", ScaleUp{Lines: 2, Warm: 2, Line: ms, Start: 40 * ms, Shortage: Shortage{InAll: 10 * ms}}, 0},
	} {
		if got := c.b.Worth(); got != c.want {
			t.Errorf("%s: %+v starts %d, want %d", c.what, c.b, got, c.want)
		}
	}
}

func TestScaleUp_Laws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, name))
		}
		b := ScaleUp{
			Lines:    rapid.IntRange(0, 50).Draw(t, "lines"),
			Warm:     rapid.IntRange(0, 9).Draw(t, "warm"),
			Coming:   rapid.IntRange(0, 9).Draw(t, "coming"),
			Line:     span("line"),
			Start:    span("start"),
			Behind:   rapid.IntRange(0, 50).Draw(t, "behind"),
			Shortage: Shortage{OnEnd: span("on end"), InAll: span("in all")},
			Spare:    rapid.IntRange(-1, 9).Draw(t, "spare"),
		}
		n := b.Worth()
		if n < 0 || n > max(0, b.Lines-b.Coming, min(b.Warm, b.Lines+b.Behind)) {
			t.Fatalf("%+v starts %d", b, n)
		}
		if b.Lines > 0 && b.Warm+b.Coming == 0 && n == 0 {
			t.Fatalf("%+v: lines wait for nobody", b)
		}
		if b.Lines > 0 && b.Coming == 0 && b.Shortage.OnEnd >= startMost && b.Warm > 0 && n < b.Lines {
			t.Fatalf("%+v: a free slot is waited for, %d start", b, n)
		}
		more := b
		more.Lines++
		if more.Worth() < n {
			t.Fatalf("%+v starts %d, and with one line more %d", b, n, more.Worth())
		}
		slower := b
		slower.Line += time.Millisecond
		if slower.Worth() < n {
			t.Fatalf("%+v starts %d, and with slower lines %d", b, n, slower.Worth())
		}
	})
}

func TestShortage_AddsUp(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	now := time.Unix(0, 0)
	var s Shortage
	look := func(after time.Duration, busy, wait bool) {
		now = now.Add(after)
		s = s.Look(busy, wait, now)
	}
	want := func(what string, onEnd, inAll time.Duration) {
		t.Helper()
		if s.OnEnd != onEnd || s.InAll != inAll {
			t.Errorf("%s: %s on end, %s in all; want %s and %s", what, s.OnEnd, s.InAll, onEnd, inAll)
		}
	}
	look(time.Hour, true, false)
	look(10*ms, true, true)
	want("all had something to do, and nothing waited", 0, 0)
	look(10*ms, true, false)
	want("lines waited", 10*ms, 9*ms)
	look(10*ms, true, true)
	want("a moment in which all is given", 20*ms, 8*ms)
	look(10*ms, false, true)
	want("and one in which a child is idle", 0, 17*ms)
	look(100*ms, true, true)
	want("a tenth is forgiven", 0, 7*ms)
	look(10*ms, true, true)
	want("it goes on", 10*ms, 16*ms)
	s = s.Grown()
	want("another child", 0, 0)
	if look(time.Hour, false, false); s.Busy() || s.Short() || s.InAll != 0 {
		t.Errorf("nothing to do: %+v", s)
	}
}

// Due is a moment at which Worth is another one, if all goes on as it is.
func TestScaleUp_Due(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	now := time.Unix(0, 0)
	b := ScaleUp{Lines: 3, Warm: 1, Line: ms, Start: 40 * ms, Spare: 2}
	if at := b.Due(now); !at.IsZero() {
		t.Errorf("it is not short, and due in %s", at.Sub(now))
	}
	b.Shortage = b.Shortage.Look(true, true, now)
	var started []time.Duration
	for b.Due(now).After(now) {
		now = b.Due(now)
		b.Shortage = b.Shortage.Look(true, true, now)
		if n := b.Worth(); n > 0 {
			started = append(started, now.Sub(time.Unix(0, 0)))
			b.Coming += n
		}
		if len(started) > 9 {
			t.Fatal(started)
		}
	}
	if len(started) == 0 || started[0] < 10*ms || started[0] > 12*ms {
		t.Errorf("%s", started)
	}
}
