package scheduler

import (
	"math"
	"slices"
	"time"
)

// RetryPolicy says when a failed job of a type is tried again.
type RetryPolicy struct {
	Attempts int           // of a job that does not say itself how many; 0: one
	First    time.Duration // pause after the first failure
	Most     time.Duration // the longest pause, before Jitter
	Factor   float64       // how much longer each pause is than the one before
	Jitter   float64       // up to so large a part of a pause is put on top, so that many do not come at once
	// Not are the exit codes, and the outcomes, after which another try would give the same.
	NotCodes    []int
	NotOutcomes []Outcome
	// Snooze are the exit codes with which an agent asks to be tried again later, and when: that is no attempt.
	Snooze map[int]time.Duration
}

// DefaultRetry is one attempt; between several it is one second, doubled, up to five minutes.
var DefaultRetry = RetryPolicy{Attempts: 1, First: time.Second, Most: 5 * time.Minute, Factor: 2, Jitter: 0.5}

// QuarantineDeaths is how many times a job may take its agent down with it.
const QuarantineDeaths = 3

// Pause is how long a job rests after the given attempt (from 1) failed. u in [0,1) is the jitter.
func (p RetryPolicy) Pause(attempt int, u float64) time.Duration {
	d := float64(p.First) * math.Pow(p.Factor, float64(attempt-1))
	if d > float64(p.Most) || math.IsNaN(d) {
		d = float64(p.Most)
	}
	return time.Duration(d + d*p.Jitter*u)
}

// allowed is how many attempts a job may have in all: what it says itself counts.
func (p RetryPolicy) allowed(most int) int {
	switch {
	case most < 0:
		return -most
	case most > 1:
		return most
	}
	return max(p.Attempts, 1)
}

// never reports whether another try of what ended so would give the same.
func (p RetryPolicy) never(r *Result) bool {
	return r.Answer != nil && r.Answer.Never ||
		slices.Contains(p.NotCodes, r.ExitCode) || slices.Contains(p.NotOutcomes, r.Outcome)
}

// snooze is for how long a job is put off by how its agent ended; 0: it is not.
func (p RetryPolicy) snooze(r *Result) time.Duration {
	if r.Answer != nil && r.Answer.Snooze > 0 {
		return r.Answer.Snooze
	}
	if r.Outcome == OutcomeFailed {
		return p.Snooze[r.ExitCode]
	}
	return 0
}

// Verdict is what a job becomes after an attempt.
type Verdict struct {
	State   JobState
	Delay   time.Duration // Scheduled: how long until the next attempt; Release: until it may be claimed again
	Counts  bool          // the attempt counts
	Death   bool          // a death of the agent at the job's hands
	Release bool          // Ready: the claim is undone, as if it had never been
}

// Judge decides what becomes of a single job after an attempt: how that went
// and what its agent said, the job's limits (its line has the attempts so far
// with this one, and the deaths before it), and the jitter u in [0,1).
func Judge(r *Result, p RetryPolicy, u float64) Verdict {
	switch {
	case r.Outcome == OutcomeSucceeded:
		return Verdict{State: Succeeded, Counts: true}
	case r.Outcome == OutcomeCancelled:
		return Verdict{State: Cancelled}
	case r.Outcome == OutcomeLost || p.snooze(r) > 0:
		return Verdict{State: Ready, Release: true, Delay: p.snooze(r)}
	}
	v := Verdict{State: Failed, Counts: true, Death: r.Outcome == OutcomeDied}
	if r.Guard || v.Death && r.Line.Deaths+1 >= QuarantineDeaths {
		v.State = Quarantined
		return v
	}
	if r.Line.Attempt >= p.allowed(r.Line.MaxAttempts) || p.never(r) {
		return v
	}
	v.State, v.Delay = Scheduled, p.Pause(r.Line.Attempt, u)
	if r.Answer != nil && r.Answer.After > 0 {
		v.Delay = r.Answer.After
	}
	return v
}
