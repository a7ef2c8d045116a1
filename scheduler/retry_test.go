package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var luck = rapid.Float64Range(0, 0.9999999)

// Law: a pause is never shorter than the first one, never longer than one and a
// half times the longest, and never shorter than an earlier one without jitter.
func TestBackoff_Bounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "first"))
		most := first + time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "more"))
		n := rapid.IntRange(1, 200).Draw(t, "n")
		d := Backoff(first, most, n, luck.Draw(t, "u"))
		if d < first || d > most+most/2 {
			t.Fatalf("pause %d of %s … %s is %s", n, first, most, d)
		}
		if a, b := Backoff(first, most, n, 0), Backoff(first, most, n+1, 0); a > b || b > 2*a {
			t.Fatalf("pause %d is %s and the next %s", n, a, b)
		}
		if n > 64 && Backoff(first, most, n, 0) != most {
			t.Fatalf("pause %d is %s, not %s", n, Backoff(first, most, n, 0), most)
		}
	})
}

func TestRetryPolicy_DoublesUntilTheAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{First: time.Second, Most: 10 * time.Second}
	want := []time.Duration{
		time.Second,
		2 * time.Second,
		4 * time.Second,
		8 * time.Second,
		10 * time.Second,
		10 * time.Second,
	}
	for i, pause := range want {
		if d, again := p.Next(i+1, len(want)+1, 0); d != pause || !again {
			t.Errorf("after attempt %d: %s, %v; want %s", i+1, d, again, pause)
		}
	}
	for _, attempt := range []int{7, 8, 1000} {
		if d, again := p.Next(attempt, 7, 0.5); d != 0 || again {
			t.Errorf("after attempt %d of 7: %s, %v", attempt, d, again)
		}
	}
}

// Every outcome × attempt × most attempts × deaths.
func TestJudge_Table(t *testing.T) {
	t.Parallel()
	for o := range outcomes {
		for attempt := 1; attempt <= 4; attempt++ {
			for most := 1; most <= 4; most++ {
				for deaths := range QuarantineDeaths + 1 {
					got := Judge(o, attempt, most, deaths, DefaultRetry, 0)
					if want := expected(o, attempt, most, deaths); got != want {
						t.Errorf("%s, attempt %d of %d, %d deaths before: %+v, want %+v", o, attempt, most, deaths, got, want)
					}
					if !Running.CanBecome(got.State) {
						t.Errorf("%s: running cannot become %s", o, got.State)
					}
				}
			}
		}
	}
}

// expected says in the contract's words what Judge has to find.
func expected(o Outcome, attempt, most, deaths int) Verdict {
	again := Verdict{State: Scheduled, Delay: time.Second << (attempt - 1), Counts: true}
	over := Verdict{State: Failed, Counts: true}
	switch {
	case o == OutcomeSucceeded:
		return Verdict{State: Succeeded, Counts: true}
	case o == OutcomeCancelled:
		return Verdict{State: Cancelled}
	case o == OutcomeLost: // through no fault of the agent or the job
		return Verdict{State: Ready, Release: true}
	case o == OutcomeDied && deaths >= QuarantineDeaths-1:
		return Verdict{State: Quarantined, Counts: true, Death: true}
	case o == OutcomeDied && attempt < most:
		again.Death = true
		return again
	case o == OutcomeDied:
		over.Death = true
		return over
	case attempt < most:
		return again
	}
	return over
}
