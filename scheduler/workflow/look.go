package workflow

import "time"

// never is a time at which no clock will ever be: the sensor waits for something else.
var never = time.Time{}

// fullRest is when a sensor is looked at again whose workflow has as many queued runs as may be.
const fullRest = 10 * time.Second

// Seen is what is known of a sensor when it is looked at.
type Seen struct {
	Next   time.Time   // the first slot that has not fired, or Then.Held; zero: the sensor is new
	Now    time.Time   // by the database's clock
	Recent []time.Time // when it fired last, the latest first; as many as AtMost says
	Open   bool        // a run of its workflow is not over
	Queued int         // how many are queued
}

// Then is what comes of a look.
type Then struct {
	Fire []Slot
	Next time.Time // when it is looked at again; zero: see Waits
	// Held is the first slot that may fire then, where Next is none: it has fired so often that it may not before.
	Held time.Time
	// Waits: for the end of a run, and not for the clock. Neither: it never fires again.
	Waits bool
}

// Look says what a sensor of the clock does now.
func (s *Sensor) Look(seen Seen) (Then, error) {
	until := s.heldUntil(seen)
	held := until.After(seen.Now)
	if s.AfterFinish {
		switch {
		case held:
			return Then{Next: until}, nil
		case seen.Open:
			return Then{Waits: true}, nil
		case seen.Next.IsZero(), !seen.Next.After(seen.Now):
			return Then{Fire: []Slot{{At: seen.Now.Truncate(time.Second)}}, Waits: true}, nil
		}
		return Then{Next: seen.Next}, nil
	}
	schedule, err := s.Schedule()
	if err != nil || schedule == nil {
		return Then{}, err
	}
	if held && !seen.Next.IsZero() {
		return s.hold(schedule, seen, until), nil
	}
	fire, next, ok := Due(schedule, s.CatchUp, seen.Next, seen.Now)
	if !ok {
		next = never
	}
	var first time.Time // that is held
	if room := max(0, MostQueued-seen.Queued); s.CatchUp == CatchUpAll && len(fire) > room {
		// None of them is skipped: they wait until there is room.
		next, first, fire = seen.Now.Add(fullRest), fire[room].At, fire[:room]
	}
	if room := s.AtMost - s.fired(seen); s.AtMost > 0 && len(fire) > room {
		if s.CatchUp == CatchUpAll { // the others wait until they may
			next, first = fire[room].At, never
		}
		fire = fire[:room]
	}
	return Then{Fire: fire, Next: next, Held: first}, nil
}

// hold puts a sensor off until it may fire again. What has passed then has been missed: with all each slot fires, else
// the last of them is what catch_up is about. Slots stay what they are, whenever they fire.
func (s *Sensor) hold(schedule Schedule, seen Seen, until time.Time) Then {
	if seen.Next.After(until) {
		return Then{Next: seen.Next}
	}
	slot := seen.Next
	if s.CatchUp != CatchUpAll {
		if last, some := lastBefore(schedule, slot, until.Add(time.Nanosecond)); some {
			slot = last
		}
	}
	return Then{Next: until, Held: slot}
}

// fired is how often it has fired in the time that counts.
func (s *Sensor) fired(seen Seen) (n int) {
	for _, at := range seen.Recent {
		if at.After(seen.Now.Add(-time.Duration(s.Per))) {
			n++
		}
	}
	return n
}

// heldUntil is when it may fire again, where it has fired so often that it may not now.
func (s *Sensor) heldUntil(seen Seen) time.Time {
	if s.AtMost == 0 || s.fired(seen) < s.AtMost {
		return time.Time{}
	}
	return seen.Recent[s.AtMost-1].Add(time.Duration(s.Per))
}
