package engine

import "time"

// Pace is how often an engine is asked something: as often as Every while it answers, and ever more seldom while it
// does not, up to Most.
type Pace struct {
	Every, Most time.Duration
	Fails       int       // calls in a row that failed
	Since       time.Time // of the first of them
	Next        time.Time // not before
}

// Answered: a call was good.
func (p Pace) Answered(now time.Time) Pace {
	p.Fails, p.Since, p.Next = 0, time.Time{}, now.Add(p.Every)
	return p
}

// Failed: a call was not. u in [0,1) is the jitter, a fifth of the pause.
func (p Pace) Failed(now time.Time, u float64) Pace {
	if p.Fails == 0 {
		p.Since = now
	}
	pause := max(p.Every, time.Second)
	for i := 0; i < p.Fails && pause < p.Most; i++ {
		pause *= 2
	}
	pause = min(pause, max(p.Most, p.Every))
	p.Fails++
	p.Next = now.Add(pause + time.Duration(float64(pause)*u/5))
	return p
}

// Due reports whether a call may be made.
func (p Pace) Due(now time.Time) bool { return !now.Before(p.Next) }
