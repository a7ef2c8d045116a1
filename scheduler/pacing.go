package scheduler

import "time"

// Pacing is how soon an actor looks again that is told when a look is wanted. If due work came to nothing (another
// instance is at it), or the look failed, the next look comes after Soon, then ever more seldom, up to Late.
type Pacing struct {
	Soon, Late time.Duration
	pause      time.Duration // before the next look after a vain one; 0: the last was not vain
}

// Look is what a look came to.
type Look struct {
	Did    int           // how much was done; before it failed, too
	Next   time.Duration // delay until the next look; negative: none until a message asks for it
	Failed bool
	Asked  bool // another look was asked for during this one
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
		return p, pause // and no longer, however far away Next is: a request during the pause is not heard until its end
	}
	p.pause = 0
	return p, min(l.Next, lookMost)
}

// Slowed reports whether the last look came to nothing, or failed.
func (p Pacing) Slowed() bool { return p.pause > 0 }
