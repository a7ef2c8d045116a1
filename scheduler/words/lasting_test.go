package words

import (
	"testing"
	"time"
)

// Spans of time have a number, a blank and a unit, whatever their length.
func TestLasting(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{
		-3: "0 s", 0: "0 s", 4.9: "4 s", 60: "1 min 00 s", 526: "8 min 46 s", 7500: "2 h 05 min", 273_600: "3 d 4 h",
		1e300: "115740 d 17 h",
	} {
		if got := Lasting(seconds); got != want {
			t.Errorf("%v s are %q, not %q", seconds, got, want)
		}
	}
}

// What was measured has three digits, and no zeros that tell nothing.
func TestTook(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{
		-1: "0 s", 0: "0 s", 0.0004: "<1 ms", 0.00104: "1.04 ms", 0.062_46: "62.5 ms", 0.04: "40 ms", 0.9996: "1 s",
		1.234: "1.23 s", 10.75: "10.8 s", 59.96: "1 min 00 s", 90: "1 min 30 s", 7500: "2 h 05 min", 0.1: "100 ms",
	} {
		if got := Took(seconds); got != want {
			t.Errorf("%v s took %q, not %q", seconds, got, want)
		}
	}
}

// A time is told by its biggest unit, before and after now.
func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]string{
		0: "now", 4 * time.Second: "4 s ago", 119 * time.Second: "1 min ago", 5 * time.Hour: "5 h ago",
		50 * time.Hour: "2 d ago", -41 * time.Second: "in 41 s", -90 * time.Minute: "in 1 h",
	} {
		if got := Ago(now.Add(-ago), now); got != want {
			t.Errorf("%v before: %q, not %q", ago, got, want)
		}
	}
}

// A time is written in UTC, and read as it is written.
func TestStamp_IsReadBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 23, 34, 14, 0, time.FixedZone("", 3600))
	if got := Stamp(at); got != "2026-11-27 22:34:14 UTC" {
		t.Errorf("it is written %s", got)
	}
	if back, err := ParseMoment(Stamp(at)); err != nil || !back.Equal(at) {
		t.Errorf("it is read as %s, %v", back, err)
	}
	if got := When(&at, at.Add(4*time.Minute)); got != "4 min ago (2026-11-27 22:34:14 UTC)" {
		t.Errorf("with how long ago it was: %s", got)
	}
	if got := When(nil, at) + Moment(nil); got != "" {
		t.Errorf("no time: %s", got)
	}
}
