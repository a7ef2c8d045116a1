package scheduler

import (
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// RespawnPolicy bounds how often children of one type may die on one host
// (seed 000: RespawnCount, RespawnInterval).
type RespawnPolicy struct {
	Deaths int           // so many deaths …
	Window time.Duration // … within this: FAIL, for as long again
}

// Respawn is what one host remembers of the deaths of one type. It is told only of deaths that were not ordered.
// The zero value has seen no death, and no child that said OK.
type Respawn struct {
	Deaths  []time.Time // the latest ones within the window
	InARow  int         // deaths since the last finished line
	NextAt  time.Time   // no child before this
	Tripped bool        // FAIL until NextAt, then one probe
	// Up: a child has said OK here. Until then there is one at a time: a program
	// that never says it holds one slot, and not all of them.
	Up     bool
	Starts int       // children that died before they said OK, since the last that did
	Since  time.Time // when the first of those died
	Guards Guards
}

// Guards is what one host remembers of guards that died under children of one
// type. That is not the agents' fault, so it bars no type, and is no attempt of
// a job: but for a pause that grows, an agent that kills its own guard would run
// again and again at once.
type Guards struct {
	InARow int
	NextAt time.Time // no child before this
}

// guardSteady is how long after a pause no guard may have died for the pauses
// to begin anew.
const guardSteady = time.Minute

// Died records the death of a guard. Those that die within a pause tell nothing
// new: many die together. u in [0,1) is the jitter.
func (g Guards) Died(now time.Time, u float64) Guards {
	switch {
	case now.Before(g.NextAt):
		return g
	case now.Sub(g.NextAt) >= guardSteady:
		g.InARow = 0
	}
	g.InARow++
	g.NextAt = now
	if g.InARow >= 2 {
		g.NextAt = now.Add(Backoff(respawnFirst, respawnMost, g.InARow-1, u))
	}
	return g
}

// respawnFirst and respawnMost bound the pause between two respawns.
const (
	respawnFirst = time.Second
	respawnMost  = 30 * time.Second
)

// Died records a death. u in [0,1) is the jitter.
func (r Respawn) Died(p RespawnPolicy, now time.Time, u float64) Respawn {
	var recent []time.Time
	for _, at := range r.Deaths {
		if now.Sub(at) < p.Window {
			recent = append(recent, at)
		}
	}
	r.Deaths = append(recent, now)
	r.InARow++
	if r.Tripped || p.Deaths > 0 && len(r.Deaths) >= p.Deaths {
		return r.trip(p, now)
	}
	r.NextAt = now
	if r.InARow >= 2 {
		r.NextAt = now.Add(Backoff(respawnFirst, respawnMost, r.InARow-1, u))
	}
	return r
}

func (r Respawn) trip(p RespawnPolicy, now time.Time) Respawn {
	return Respawn{
		InARow:  r.InARow,
		NextAt:  now.Add(p.Window),
		Tripped: true,
		Up:      r.Up,
		Starts:  r.Starts,
		Since:   r.Since,
		Guards:  r.Guards,
	}
}

// NotUp records the death of a child that had not said OK. Such deaths count
// however far they are apart: with a start_timeout of a minute there would never
// be enough of them within the window.
func (r Respawn) NotUp(p RespawnPolicy, now time.Time, u float64) Respawn {
	if r.Starts++; r.Starts == 1 {
		r.Since = now
	}
	if r = r.Died(p, now, u); !r.Tripped && p.Deaths > 0 && r.Starts >= p.Deaths {
		return r.trip(p, now)
	}
	return r
}

// SaidOK records that a child has come up: no bar that failed starts have put
// up stands any more, but there is one at a time until a line is finished.
func (r Respawn) SaidOK() Respawn {
	r.Tripped = r.Tripped && r.Starts == 0
	r.Up, r.Starts, r.Since = true, 0, time.Time{}
	return r
}

// Healthy records that a child finished a line: a few bad inputs among a
// million do not stop a type.
func (r Respawn) Healthy() Respawn { return Respawn{Up: true, Guards: r.Guards} }

// Trouble is what is told of a type after a death: nothing while children come up and it is not barred; else its last
// words, since when none comes up or how many died at work, and when it is started again. bellhop.hindrance tells the
// two apart by these words.
func (r Respawn) Trouble(why Account) Account {
	switch {
	case r.Starts == 1:
		why.Reason = "none has come up since " + r.Since.Format(troubleTime) + " (1 try): " + why.Reason
	case r.Starts > 1:
		why.Reason = fmt.Sprintf("none has come up since %s (%d tries): %s", r.Since.Format(troubleTime), r.Starts,
			why.Reason)
	case !r.Tripped:
		return Account{}
	case r.InARow == 1:
		why.Reason = "1 child died while it worked, with: " + why.Reason
	default:
		why.Reason = fmt.Sprintf("%d children died while they worked, the last with: %s", r.InARow, why.Reason)
	}
	if r.Tripped {
		why.Reason += "; its agent is started again at " + r.NextAt.UTC().Format(troubleTime)
	}
	return why
}

// LastWords are those of the last child that died, and how many have died without a line finished between.
func (r Respawn) LastWords(died string) string {
	if r.InARow == 0 {
		return died
	}
	return fmt.Sprintf("%d deaths in a row: %s", r.InARow, died)
}

const troubleTime = "2006-01-02 15:04:05 MST"

// May says how many children of the type may come up now beside live ones (a
// large number when nothing holds it), and if none, when to ask again.
func (r Respawn) May(live int, now time.Time) (n int, again time.Time) {
	if at := r.NotBefore(); now.Before(at) {
		return 0, at
	}
	if r.Tripped || r.InARow > 0 || !r.Up { // one probe at a time until one proves itself
		return max(0, 1-live), time.Time{}
	}
	return 1 << 30, time.Time{}
}

// NotBefore is when the next child may come up at the soonest.
func (r Respawn) NotBefore() time.Time {
	if r.Guards.NextAt.After(r.NextAt) {
		return r.Guards.NextAt
	}
	return r.NextAt
}

// Backoff is the n-th pause (from 1) of an exponential series: first, doubled
// each time, at most `most`; u in [0,1) spreads it over +0 … +50 %, so that it
// is never shorter than first. The series is backoff/v4's, without its own
// random numbers: the same state gives the same pause.
func Backoff(first, most time.Duration, n int, u float64) time.Duration {
	series := backoff.NewExponentialBackOff(backoff.WithInitialInterval(first), backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0), backoff.WithMaxInterval(most), backoff.WithMaxElapsedTime(0))
	d := first
	for range min(n, doublings) {
		d = series.NextBackOff()
	}
	d = min(d, most)
	return d + time.Duration(float64(d)/2*u)
}

// doublings bring a nanosecond to the longest pause that there can be.
const doublings = 64
