package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReachability_TheZeroValueIsUp(t *testing.T) {
	if r := (Reachability{}); r.State() != HostUp || r.Due(time.Now()) {
		t.Errorf("%+v", r)
	}
}

func TestReachability_ComesAndGoes(t *testing.T) {
	now := time.Unix(1000, 0)
	r := Untried()
	if r.State() != HostConnecting || !r.Due(now) {
		t.Fatalf("untried: %+v", r)
	}
	r = r.Try()
	if r.Due(now.Add(time.Hour)) {
		t.Error("two attempts at once")
	}
	r = r.Failed("refused: no", now, 0)
	if r.State() != HostDown || r.Message != "refused: no" || r.Due(now.Add(999*time.Millisecond)) ||
		!r.Due(now.Add(time.Second)) {
		t.Errorf("failed: %+v", r)
	}
	same := r.Lost("another line", now, 0)
	if same != r {
		t.Errorf("a line lost while down changed it: %+v", same)
	}
	r = r.Try().Reached(now)
	if r.State() != HostUp || r.Due(now.Add(time.Hour)) {
		t.Errorf("reached: %+v", r)
	}
	if flapping := r.Lost("cut", now.Add(time.Second), 0); flapping.Fails != 2 {
		t.Errorf("lost at once after it came back: %+v", flapping)
	}
	if rare := r.Lost("cut", now.Add(time.Minute), 0); rare.Fails != 1 {
		t.Errorf("lost after a steady time: %+v", rare)
	}
}

// Whatever happens: never more attempts than the pauses allow, and none that
// never comes.
func TestReachability_IsNoStorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		r, attempts, last := Untried(), 0, time.Time{}
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			u := rapid.Float64Range(0, 0.99).Draw(t, "u")
			switch {
			case r.Due(now):
				if attempts > 0 && now.Sub(last) < reachFirst {
					t.Fatalf("attempts %s apart", now.Sub(last))
				}
				attempts, last = attempts+1, now
				if r = r.Try(); rapid.Bool().Draw(t, "well") {
					r = r.Reached(now)
				} else {
					r = r.Failed("no", now, u)
				}
			case rapid.Bool().Draw(t, "cut"):
				r = r.Lost("cut", now, u)
			}
			if r.Down && r.NextAt.Sub(now) > reachMost+reachMost/2 {
				t.Fatalf("the next attempt is in %s", r.NextAt.Sub(now))
			}
		}
	})
}
