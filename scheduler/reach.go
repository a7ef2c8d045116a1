package scheduler

import "time"

// Reach is what is known of the way to a host. The zero value is a host that
// can be reached, as this machine always can.
type Reach struct {
	Down   bool
	Words  string    // why it is down; empty: it has not been tried yet
	Fails  int       // in a row, with no steady time between
	NextAt time.Time // when down: not tried again before
	Trying bool      // an attempt is under way
	upAt   time.Time
}

// reachFirst and reachMost bound the pause between two attempts; a host that
// was up for reachSteady has its failures forgotten.
const (
	reachFirst  = time.Second
	reachMost   = 30 * time.Second
	reachSteady = time.Minute
)

// Untried is a host that must be reached before it is given work.
func Untried() Reach { return Reach{Down: true} }

// Due reports whether it is time for an attempt.
func (r Reach) Due(now time.Time) bool { return r.Down && !r.Trying && !now.Before(r.NextAt) }

// Try notes that an attempt begins.
func (r Reach) Try() Reach {
	r.Trying = true
	return r
}

// Reached ends an attempt well.
func (r Reach) Reached(now time.Time) Reach { return Reach{Fails: r.Fails, upAt: now} }

// Failed ends an attempt. u in [0,1) is the jitter.
func (r Reach) Failed(words string, now time.Time, u float64) Reach {
	fails := r.Fails + 1
	return Reach{Down: true, Words: words, Fails: fails, NextAt: now.Add(Backoff(reachFirst, reachMost, fails, u))}
}

// Lost notes that a line broke. Those that break while the host is down
// already tell nothing new: many lines to one host break together.
func (r Reach) Lost(words string, now time.Time, u float64) Reach {
	if r.Down {
		return r
	}
	if !r.upAt.IsZero() && now.Sub(r.upAt) >= reachSteady {
		r.Fails = 0
	}
	return r.Failed(words, now, u)
}

// HostState is what others see of the way to a host.
type HostState string

const (
	HostUp         HostState = "up"
	HostConnecting HostState = "connecting" // not tried yet
	HostDown       HostState = "down"
)

// State is how the host is shown.
func (r Reach) State() HostState {
	switch {
	case !r.Down:
		return HostUp
	case r.Words == "":
		return HostConnecting
	}
	return HostDown
}
