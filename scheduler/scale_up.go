package scheduler

import "time"

// ScaleUp is what a host weighs before it starts processes for lines that none
// of its children has room for.
type ScaleUp struct {
	Lines    int           // that were dealt and wait
	Behind   int           // that children have, behind the one in hand
	Warm     int           // children that take lines
	Coming   int           // children that come up
	Line     time.Duration // what a line takes a child of the type; 0: not known
	Start    time.Duration // what it takes a process of the type to come up; 0: not known
	Shortage Shortage
	Spare    int // slots that are free, but for one where other types may want it
}

// startMost is the longest that a start is thought to take: however slow one
// is, a line does not wait longer for a child that may or may not get free.
const startMost = 100 * time.Millisecond

// early is which part of a start a type is short, by and by, before it gets more processes.
const early = 4

// Patience is how long lines wait for running children before more are started: as long as a start takes. Waiting
// no longer than the start would cost wastes at most that much again (ski rental).
func (b ScaleUp) Patience() time.Duration { return min(b.Start, startMost) }

// Worth is how many processes to start now. A type does not take slots for lines that its warm children finish
// sooner than a process starts, unless that goes on for as long as a start takes. If it recurs, twice as many are
// started, and sooner. While the time that a line takes is unknown, one child comes first.
func (b ScaleUp) Worth() int {
	missing, patience := max(0, b.Lines-b.Coming), b.Patience()
	switch {
	case b.Start <= 0: // none has ever come up: Respawn says how many are tried
		return missing
	case b.Lines > 0 && b.Warm == 0:
		return max(0, min(missing, max(1, b.needed())-b.Coming))
	case b.Coming == 0 && b.Shortage.OnEnd >= patience:
		return max(missing, b.more())
	}
	return max(0, min(missing, b.needed()-b.Warm-b.Coming), b.more())
}

// needed is how many children finish what was dealt in the time of a start.
func (b ScaleUp) needed() int {
	return int((time.Duration(b.Lines)*b.Line + b.Patience() - 1) / b.Patience())
}

// more is how many come up since the type is short again and again.
func (b ScaleUp) more() int {
	if b.Line <= 0 || b.Coming > 0 || b.Shortage.InAll < b.Patience()/early {
		return 0
	}
	return max(0, min(b.Warm, b.Lines+b.Behind, b.Spare))
}

// Due is when Worth may be another one, if a type stays as short as it is now; zero:
// it is not short, or has been for long enough.
func (b ScaleUp) Due(now time.Time) (at time.Time) {
	if !b.Shortage.short {
		return at
	}
	for _, left := range []time.Duration{b.Patience() - b.Shortage.OnEnd, b.Patience()/early - b.Shortage.InAll} {
		if t := now.Add(left); left > 0 && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

// Shortage is for how long lines of a type have waited while all of its children, all of
// them up, had something to do.
type Shortage struct {
	OnEnd time.Duration // since one of them last had nothing to do
	// InAll adds up and forgives a tenth of the time: a type that is short seldom has enough.
	InAll time.Duration
	at    time.Time // of the last look
	busy  bool      // they all had something to do then
	short bool      // and lines waited
}

// Busy reports whether all children were up and busy at the last look, and Short
// whether lines waited besides.
func (s Shortage) Busy() bool  { return s.busy }
func (s Shortage) Short() bool { return s.short }

// Look takes what is so from now on: that all children are up and busy, and that lines wait. A
// moment in which all that was dealt is given is no end of OnEnd.
func (s Shortage) Look(busy, wait bool, now time.Time) Shortage {
	if !s.at.IsZero() {
		past := max(0, now.Sub(s.at))
		if s.short {
			s.InAll += past
		}
		if s.busy && (s.short || s.OnEnd > 0) {
			s.OnEnd += past
		}
		s.InAll = max(0, s.InAll-past/10)
	}
	if !busy {
		s.OnEnd = 0
	}
	s.at, s.busy, s.short = now, busy, busy && wait
	return s
}

// Grown forgets what was before another child came up.
func (s Shortage) Grown() Shortage { return Shortage{at: s.at} }
