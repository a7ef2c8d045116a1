package scheduler

import "time"

// Reachability is what is known of the way to a host. The zero value is a host that
// can be reached, as this machine always can.
type Reachability struct {
	Down    bool
	Message string    // why it is down; empty: it has not been tried yet
	Fails   int       // in a row, with no steady time between
	NextAt  time.Time // when down: not tried again before
	Trying  bool      // an attempt is under way
	upAt    time.Time
}

// reachFirst and reachMost bound the pause between two attempts; a host that
// was up for reachSteady has its failures forgotten.
const (
	reachFirst  = time.Second
	reachMost   = 30 * time.Second
	reachSteady = time.Minute
)

// Untried is a host that must be reached before it is given work.
func Untried() Reachability { return Reachability{Down: true} }

// Due reports whether it is time for an attempt.
func (r Reachability) Due(now time.Time) bool { return r.Down && !r.Trying && !now.Before(r.NextAt) }

// Try notes that an attempt begins.
func (r Reachability) Try() Reachability {
	r.Trying = true
	return r
}

// Reached ends an attempt well.
func (r Reachability) Reached(now time.Time) Reachability {
	return Reachability{Fails: r.Fails, upAt: now}
}

// Failed ends an attempt. u in [0,1) is the jitter.
func (r Reachability) Failed(message string, now time.Time, u float64) Reachability {
	fails := r.Fails + 1
	return Reachability{
		Down:    true,
		Message: message,
		Fails:   fails,
		NextAt:  now.Add(Backoff(reachFirst, reachMost, fails, u)),
	}
}

// Lost notes that a line broke. Those that break while the host is down
// already tell nothing new: many lines to one host break together.
func (r Reachability) Lost(message string, now time.Time, u float64) Reachability {
	if r.Down {
		return r
	}
	if !r.upAt.IsZero() && now.Sub(r.upAt) >= reachSteady {
		r.Fails = 0
	}
	return r.Failed(message, now, u)
}

// HostState is what others see of the way to a host.
type HostState string

const (
	HostUp         HostState = "up"
	HostConnecting HostState = "connecting" // not tried yet
	HostDown       HostState = "down"
)

// State is how the host is shown.
func (r Reachability) State() HostState {
	switch {
	case !r.Down:
		return HostUp
	case r.Message == "":
		return HostConnecting
	}
	return HostDown
}
