package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func luck() *rapid.Generator[float64] { return rapid.Float64Range(0, 0.9999999) }

// Law: a pause is never shorter than the first one, never longer than one and a
// half times the longest, and never shorter than an earlier one without jitter.
func TestBackoff_Bounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "first"))
		most := first + time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "more"))
		n := rapid.IntRange(1, 200).Draw(t, "n")
		d := Backoff(first, most, n, luck().Draw(t, "u"))
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
	p := RetryPolicy{First: time.Second, Most: 10 * time.Second, Factor: 2, Jitter: 0.5}
	want := []time.Duration{
		time.Second,
		2 * time.Second,
		4 * time.Second,
		8 * time.Second,
		10 * time.Second,
		10 * time.Second,
	}
	for i, pause := range want {
		if v := Judge(ended(OutcomeFailed, i+1, len(want)+1, 0), p, 0); v.Delay != pause || v.State != Scheduled {
			t.Errorf("after attempt %d: %+v; want %s", i+1, v, pause)
		}
	}
	for _, attempt := range []int{7, 8, 1000} {
		if v := Judge(ended(OutcomeFailed, attempt, 7, 0), p, 0.5); v.Delay != 0 || v.State != Failed {
			t.Errorf("after attempt %d of 7: %+v", attempt, v)
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
					got := Judge(ended(o, attempt, most, deaths), DefaultRetry, 0)
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

// ended is the end of an attempt.
func ended(o Outcome, attempt, most, deaths int) *Result {
	r := &Result{Outcome: o, Line: &Line{Attempt: attempt, MaxAttempts: most, Deaths: deaths}}
	if o != OutcomeSucceeded {
		r.ExitCode = 1
	}
	return r
}

// Law: a pause is never shorter than the one before, without jitter; never longer than the longest and its jitter; and
// the first is First, whatever the numbers are. Parts of a nanosecond are cut off.
func TestRetryPolicy_Pauses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := RetryPolicy{Factor: rapid.Float64Range(1, 100).Draw(t, "factor"), Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter")}
		p.First = time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "first"))
		p.Most = p.First + time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "more"))
		n, u := rapid.IntRange(1, 100_000).Draw(t, "n"), luck().Draw(t, "u")
		base := p.Pause(n, 0)
		if d := p.Pause(n, u); d < base || float64(d) > (float64(base)+1)*(1+p.Jitter) || base > p.Most || base < p.First {
			t.Fatalf("%+v: pause %d is %s, %s with jitter %f", p, n, base, d, u)
		}
		if next := p.Pause(n+1, 0); next < base {
			t.Fatalf("%+v: pause %d is %s, and the next %s", p, n, base, next)
		}
		if p.Pause(1, 0) != p.First {
			t.Fatalf("%+v: the first pause is %s", p, p.Pause(1, 0))
		}
	})
}

// What a type's policy and the agent's own words make of a failure.
func TestJudge_PolicyAndWords(t *testing.T) {
	t.Parallel()
	p := DefaultRetry
	p.Attempts, p.NotCodes, p.NotOutcomes = 3, []int{2, 64}, []Outcome{OutcomeTimedOut}
	p.Snooze = map[int]time.Duration{75: time.Minute}
	failed := Verdict{State: Failed, Counts: true}
	again := func(d time.Duration) Verdict { return Verdict{State: Scheduled, Delay: d, Counts: true} }
	put := func(d time.Duration) Verdict { return Verdict{State: Ready, Delay: d, Release: true} }
	for _, c := range []struct {
		name       string
		o          Outcome
		code       int
		own, tries int
		says       *Answer
		want       Verdict
	}{
		{"the type's attempts", OutcomeFailed, 1, 1, 2, nil, again(2 * time.Second)},
		{"the type's last", OutcomeFailed, 1, 1, 3, nil, failed},
		{"the job's own win, where they are fewer", OutcomeFailed, 1, -1, 1, nil, failed},
		{"and where they are more", OutcomeFailed, 1, 5, 4, nil, again(8 * time.Second)},
		{"an exit code after which none helps", OutcomeFailed, 64, 0, 1, nil, failed},
		{"also when the agent dies with it", OutcomeDied, 2, 0, 1, nil, Verdict{State: Failed, Counts: true, Death: true}},
		{"an outcome after which none helps", OutcomeTimedOut, 137, 0, 1, nil, failed},
		{"never again, says the agent", OutcomeFailed, 1, 5, 1, &Answer{Never: true}, failed},
		{"in ten minutes, says the agent", OutcomeFailed, 1, 1, 1, &Answer{After: 10 * time.Minute}, again(10 * time.Minute)},
		{"which is no more attempts", OutcomeFailed, 1, 1, 3, &Answer{After: 10 * time.Minute}, failed},
		{"nor against the policy", OutcomeFailed, 2, 0, 1, &Answer{After: 10 * time.Minute}, failed},
		{"snoozed", OutcomeLost, 0, 1, 1, &Answer{Snooze: time.Hour}, put(time.Hour)},
		{"snoozed by an exit code", OutcomeFailed, 75, 1, 1, nil, put(time.Minute)},
		{"a death is no wish", OutcomeDied, 75, -1, 1, nil, Verdict{State: Failed, Counts: true, Death: true}},
		{"a result changes nothing", OutcomeSucceeded, 0, 1, 1, &Answer{Result: []byte("1")}, Verdict{State: Succeeded, Counts: true}},
	} {
		r := &Result{Outcome: c.o, ExitCode: c.code, Answer: c.says, Line: &Line{Attempt: c.tries, MaxAttempts: c.own}}
		if got := Judge(r, p, 0); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
