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
		{"and the others wait for it", ScaleUp{Lines: 4, Coming: 1, Start: 50 * ms, Waited: time.Second}, 0},
		{"it is up, and has not said a word yet", ScaleUp{Lines: 3, Warm: 1, Start: 50 * ms, Waited: 49 * ms}, 0},
		{"it has the first line for longer than a start takes", ScaleUp{Lines: 3, Warm: 1, Start: 50 * ms, Waited: 50 * ms}, 3},
		{"a warm child finishes them sooner than a process starts", ScaleUp{Lines: 3, Warm: 1, Line: 10 * ms, Start: 50 * ms}, 0},
		{"and does not, after all", ScaleUp{Lines: 3, Warm: 1, Line: 10 * ms, Start: 50 * ms, Waited: 50 * ms}, 3},
		{"three lines of a second, and one at work on another", ScaleUp{Lines: 3, Warm: 1, Line: 100 * ms, Start: 50 * ms}, 3},
		{"none is up, the lines are short", ScaleUp{Lines: 4, Line: ms, Start: 50 * ms}, 1},
		{"none is up, the lines are long", ScaleUp{Lines: 4, Line: 100 * ms, Start: 50 * ms}, 4},
		{"a start of a minute is waited for no longer than 100 ms", ScaleUp{Lines: 2, Warm: 1, Line: ms, Start: time.Minute, Waited: 100 * ms}, 2},
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
			Lines:  rapid.IntRange(0, 50).Draw(t, "lines"),
			Warm:   rapid.IntRange(0, 9).Draw(t, "warm"),
			Coming: rapid.IntRange(0, 9).Draw(t, "coming"),
			Line:   span("line"),
			Start:  span("start"),
			Waited: span("waited"),
		}
		n := b.Worth()
		if n < 0 || n > max(0, b.Lines-b.Coming) {
			t.Fatalf("%+v starts %d", b, n)
		}
		if b.Lines > 0 && b.Warm+b.Coming == 0 && n == 0 {
			t.Fatalf("%+v: lines wait for nobody", b)
		}
		if b.Lines > 0 && b.Coming == 0 && b.Waited >= startMost && b.Warm > 0 && n != b.Lines {
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
