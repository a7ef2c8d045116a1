package scheduler

import "time"

// RetryPolicy says when a failed job is tried again.
type RetryPolicy struct {
	First time.Duration // pause after the first failure
	Most  time.Duration // the longest pause
}

// DefaultRetry is one second, doubled, up to five minutes.
var DefaultRetry = RetryPolicy{First: time.Second, Most: 5 * time.Minute}

// QuarantineDeaths is how many times a job may take its agent down with it.
const QuarantineDeaths = 3

// Next is the pause after the given attempt (from 1) failed, and whether there
// may be another of at most max. u in [0,1) is the jitter.
func (p RetryPolicy) Next(attempt, max int, u float64) (time.Duration, bool) {
	if attempt >= max {
		return 0, false
	}
	return Backoff(p.First, p.Most, attempt, u), true
}

// Verdict is what a job becomes after an attempt.
type Verdict struct {
	State   JobState
	Delay   time.Duration // Scheduled: how long until the next attempt
	Counts  bool          // the attempt counts
	Death   bool          // a death of the agent at the job's hands
	Release bool          // Ready: the claim is undone, as if it had never been
}

// Judge decides what becomes of a single job after an attempt: the attempt's
// outcome, the job's limits (attempts so far with this one, and deaths before
// it), and the jitter u in [0,1).
func Judge(o Outcome, attempt, maxAttempts, deaths int, p RetryPolicy, u float64) Verdict {
	switch o {
	case OutcomeSucceeded:
		return Verdict{State: Succeeded, Counts: true}
	case OutcomeCancelled:
		return Verdict{State: Cancelled}
	case OutcomeLost:
		return Verdict{State: Ready, Release: true}
	}
	v := Verdict{State: Failed, Counts: true, Death: o == OutcomeDied}
	if v.Death && deaths+1 >= QuarantineDeaths {
		v.State = Quarantined
		return v
	}
	if pause, again := p.Next(attempt, maxAttempts, u); again {
		v.State, v.Delay = Scheduled, pause
	}
	return v
}
