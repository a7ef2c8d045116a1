package scheduler

import "time"

// WakePolicy decides when an instance is better off looking by itself than being
// rung for, and how often it looks. It decides nothing that a job could be lost
// by: Gate is right whatever it says.
type WakePolicy struct {
	since     time.Time     // when the window began in which is counted
	rings     int           // heard in it
	took      int           // jobs claimed in it
	heard     int           // rings since contention was last looked for
	begun     time.Time     // when that began
	contended int           // looks on end that found one
	fresh     bool          // something was claimed since the last tick
	full      time.Time     // since when there is room for nothing, zero: there is
	refused   time.Time     // the gate could not be had: not to be asked for before
	asked     time.Time     // when it was last asked for
	waits     time.Time     // since when it looks more and more seldom, while it asks
	quiet     time.Duration // how long the rate of claims must stay low before the gate is asked for
	pause     time.Duration
}

const (
	wakeWindow = 16 * time.Millisecond
	// wakeBurst rings in a window are worth being spared: 2000 a second. Fewer
	// and a ring, which comes in 0.1 ms, is better than a look every 0.5 ms.
	wakeBurst = 32
	// wakeMany rings in wakeContention, some 100 a second, are few, but may be as many as the disk allows.
	wakeContention = 50 * time.Millisecond
	wakeMany       = 6
	// wakeQuiet jobs in a window are too few to stay awake for: 500 a second.
	wakeQuiet = 8
	wakeFull  = 8 * time.Millisecond
	wakeQuick = 500 * time.Microsecond // until the next look, while work comes
	wakeSlow  = 4 * time.Millisecond   // and at most, awake
	wakeAsk   = 8 * time.Millisecond   // and while the gate has been asked for
	wakeLong  = 64 * time.Millisecond  // and when there is nothing to look for, or no gate to be had
	// wakeQuietMost bounds quiet, which doubles each time the instance is woken again
	// at once: rings for a type that has no free slot would otherwise wake it and
	// put it to sleep in turn.
	wakeQuietMost = 256 * time.Millisecond
	wakeRefused   = time.Second
)

// Rang tells of a ring. It says whether the instance should wake for it, and
// whether it is worth a look if producers block each other.
func (p WakePolicy) Rang(now time.Time) (_ WakePolicy, wake, look bool) {
	if now.Sub(p.since) > wakeWindow {
		p.since, p.rings = now, 0
	}
	if now.Sub(p.begun) > wakeContention {
		look = p.heard >= wakeMany
		p.begun, p.heard = now, 0
	}
	p.rings++
	p.heard++
	return p, p.rings >= wakeBurst, look
}

// Contended tells what such a look found, and says whether the instance should
// wake: where a flush takes milliseconds, the rush that producers would be, if
// they need not ring, is some hundred rings a second. Once is chance.
func (p WakePolicy) Contended(is bool) (WakePolicy, bool) {
	if p.contended++; !is {
		p.contended = 0
	}
	return p, p.contended >= 2
}

// Took tells of a claim that is back with n jobs, and says whether the next look
// has to come sooner than was armed: there was room for nothing, and now is.
func (p WakePolicy) Took(n int) (_ WakePolicy, sooner bool) {
	sooner = !p.full.IsZero()
	p.took += n
	p.full, p.fresh = time.Time{}, p.fresh || n > 0 || sooner
	return p, sooner
}

// Full tells that there is no room for any job, and says whether that has been so for long enough to wake.
// Producers need not ring for jobs without room.
func (p WakePolicy) Full(now time.Time) (WakePolicy, bool) {
	if p.full.IsZero() {
		p.full = now
	}
	return p, now.Sub(p.full) >= wakeFull
}

// Woke tells that the gate is open from now on.
func (p WakePolicy) Woke(now time.Time) WakePolicy {
	if p.quiet = max(2*p.quiet, wakeWindow); now.Sub(p.asked) > 2*wakeQuietMost {
		p.quiet = wakeWindow
	}
	p.quiet = min(p.quiet, wakeQuietMost)
	p.since, p.took, p.contended, p.pause = now, 0, 0, wakeQuick
	return p
}

// Asked tells that the gate is asked for from now on.
func (p WakePolicy) Asked(now time.Time) WakePolicy {
	p.asked, p.waits, p.since, p.rings, p.full = now, now, now, 0, time.Time{}
	return p
}

// Again tells that an instance that slept behind another asks for the gate anew. It nearly always sleeps again within
// wakeSlow, and has looked then: a look before would be one too many.
func (p WakePolicy) Again(now time.Time) WakePolicy {
	p.waits = now.Add(-16 * wakeSlow)
	return p
}

// Refused tells that the gate cannot be had just now.
func (p WakePolicy) Refused(now time.Time) WakePolicy {
	p.refused = now.Add(wakeRefused)
	return p
}

// Quiet says, when awake, whether little enough comes to ask to be rung for.
func (p WakePolicy) Quiet(now time.Time) (WakePolicy, bool) {
	window := now.Sub(p.since)
	if window < p.quiet {
		return p, false
	}
	quiet := p.full.IsZero() && now.After(p.refused) && p.took < int(wakeQuiet*window/wakeWindow)
	p.since, p.took = now, 0
	return p, quiet
}

// Pause is how long to wait until the next look.
func (p WakePolicy) Pause(s GateState, now time.Time) (WakePolicy, time.Duration) {
	switch {
	case s == GateAsking: // a silent producer may keep its transaction open for hours
		waited := now.Sub(p.waits)
		p.pause = max(min(max(waited/16, wakeQuick), wakeAsk), min(waited/1000, wakeLong))
	case !p.full.IsZero(), !now.After(p.refused):
		p.pause = min(max(2*p.pause, wakeQuick), wakeLong)
	case p.fresh:
		p.pause = wakeQuick
	default:
		p.pause = min(max(2*p.pause, wakeQuick), wakeSlow)
	}
	p.fresh = false
	return p, p.pause
}
