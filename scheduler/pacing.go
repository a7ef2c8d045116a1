package scheduler

import "time"

// Pacing is how soon somebody looks again who is told when that is wanted. What is due and came to nothing (another
// instance has it in hand), or could not be looked at at all, is looked at again after Soon, and ever more
// seldom, up to Late.
type Pacing struct {
	Soon, Late time.Duration
	pause      time.Duration // before the next look at what came to nothing; 0: nothing has
}

// Look is what a look came to.
type Look struct {
	Did    int           // how much was done; before it failed, too
	Next   time.Duration // in how long another is wanted; negative: whoever knows says so
	Failed bool
	Asked  bool // somebody wanted one meanwhile
}

// lookMost is the longest pause: a clock may have been set meanwhile.
const lookMost = time.Hour

// After is in how long the next look comes; negative: when it is asked for.
func (p Pacing) After(l Look) (_ Pacing, in time.Duration) {
	if l.Did > 0 {
		p.pause = 0
	}
	pause := max(p.pause, p.Soon)
	switch {
	case l.Did > 0 && l.Asked && !l.Failed:
		return p, 0
	case l.Failed, l.Asked, l.Did == 0 && l.Next >= 0 && l.Next < pause:
		p.pause = min(2*pause, p.Late)
		return p, pause // and no longer, however far away Next is: whoever asks meanwhile is not heard before
	}
	p.pause = 0
	return p, min(l.Next, lookMost)
}

// Slowed reports whether the last look came to nothing, or failed.
func (p Pacing) Slowed() bool { return p.pause > 0 }
