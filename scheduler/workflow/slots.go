package workflow

import "time"

// Late is how long after its time a slot may still be run as if nothing had
// been: an instance that dies has others take over within that. What is later was missed.
const Late = time.Minute

// minEvery is how often a sensor may fire at most.
const minEvery = time.Second

// mostSlots bounds what one look makes up for; the next one goes on.
const mostSlots = 200

// Schedule is when slots are.
type Schedule interface {
	// Next is the first one after a time; false: there is none.
	Next(after time.Time) (time.Time, bool)
}

// beat is a slot in every so many seconds since the year 1, so that all instances
// mean the same ones.
type beat time.Duration

func (b beat) Next(after time.Time) (time.Time, bool) {
	d := time.Duration(b)
	return after.UTC().Truncate(d).Add(d), true
}

// Slot is a time at which a sensor fires.
type Slot struct {
	At time.Time
	// Caught: the sensor catches up with all of its slots, however late it is: this one is never skipped.
	Caught bool
}

// Event is the name of a slot: its time in UTC.
func (s Slot) Event() string { return s.At.UTC().Format("2006-01-02T15:04:05Z") }

// Due is which slots fire now, and when the next look is: next is the first slot
// that has not fired, as it was kept; zero: the sensor is new.
func Due(s Schedule, catchUp CatchUp, next, now time.Time) (fire []Slot, look time.Time, ok bool) {
	if next.IsZero() {
		look, ok = s.Next(now)
		return nil, look, ok
	}
	missed := now.Add(-Late)
	switch {
	case catchUp == CatchUpNone:
		// Of slots that are less than a minute apart only the last is not late: the others are not made up.
		last, some := lastBefore(s, next, now.Add(time.Nanosecond))
		if !some {
			return nil, next, true
		}
		if !last.Before(missed) {
			fire = []Slot{{At: last}}
		}
		look, ok = s.Next(last)
		return fire, look, ok
	case catchUp != CatchUpAll && next.Before(missed):
		// The last one that was missed is all that matters of them.
		if last, some := lastBefore(s, next, missed); some {
			fire = append(fire, Slot{At: last})
		}
		if next, ok = s.Next(missed.Add(-time.Nanosecond)); !ok {
			return fire, next, false
		}
	}
	for ok = true; ok && !next.After(now) && len(fire) < mostSlots; next, ok = s.Next(next) {
		fire = append(fire, Slot{At: next, Caught: catchUp == CatchUpAll})
	}
	return fire, next, ok
}

// lastBefore is the last slot before a time, from first on, which is a slot. It looks
// in ever longer spans back from the end: a schedule knows only what comes next.
func lastBefore(s Schedule, first, end time.Time) (last time.Time, ok bool) {
	if !first.Before(end) {
		return last, false
	}
	for span := 2 * time.Minute; ; span *= 8 {
		from := end.Add(-span)
		if !from.After(first) {
			from, last, ok = first, first, true
		}
		for at, there := s.Next(from); there && at.Before(end); at, there = s.Next(at) {
			last, ok = at, true
		}
		if ok {
			return last, true
		}
	}
}
