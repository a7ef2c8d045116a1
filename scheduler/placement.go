package scheduler

import "time"

// Seat is a child as Deal sees it.
type Seat struct {
	Idle bool // READY, and nothing is on its way to it
	Free int  // how many more lines it takes, those on their way to it counted
}

// before orders seats for work: one with nothing to do first, then the one
// with the most room.
func (s Seat) before(other Seat) bool {
	if s.Idle != other.Idle {
		return s.Idle
	}
	return s.Free > other.Free
}

// Deal says which seat gets the next of n waiting lines, and how many at once. An idle seat gets no more than an
// even share among all seats with room, so that no other seat stands idle beside a batch. lines is 0 when no seat
// has room or no line waits.
func Deal(seats []Seat, n int) (seat, lines int) {
	seat = -1
	takers := 0
	for i, s := range seats {
		if s.Free <= 0 {
			continue
		}
		takers++
		if seat < 0 || s.before(seats[seat]) {
			seat = i
		}
	}
	if seat < 0 || n <= 0 {
		return -1, 0
	}
	lines = min(seats[seat].Free, n)
	if seats[seat].Idle {
		lines = min(lines, (n+takers-1)/takers)
	}
	return seat, lines
}

// Lodger is a child that holds a slot, as seen by a type that needs the slot.
type Lodger struct {
	Type    TypeName
	State   ChildState
	Since   time.Time     // when it entered State
	Keep    time.Duration // for how long it stays READY before it makes room (see Tenant.Keep)
	Given   bool          // lines are on their way to it
	Wanted  bool          // lines of its type wait for a child
	Leaving bool          // it has been told to go
}

// Until is when a child may go to make room, if it stays as it is; zero: not
// while it has something to do.
func (l Lodger) Until() time.Time {
	if l.State != ChildReady || l.Leaving || l.Given || l.Wanted {
		return time.Time{}
	}
	return l.Since.Add(l.Keep)
}

// Freeable reports whether the kill rules let a child go to make room: READY,
// with nothing to do, and that for as long as it is kept. Without that pause two
// types that both have work would start and kill each other's children over one
// slot for ever (seed 000, MINKILLTIME).
func (l Lodger) Freeable(now time.Time) bool {
	at := l.Until()
	return !at.IsZero() && !now.Before(at)
}

// SlowExit is how long a child may take to go before another one goes in its
// place: one that does not heed the end of its stdin keeps no other slot shut.
const SlowExit = 500 * time.Millisecond

// MakeRoom picks the child that goes so that one of type wanted can come up:
// of the freeable ones of other types the one idle for longest; −1 for none.
// short is how many slots the lines that wait on the host are short of: while as
// many children are on their way out, no other one goes.
func MakeRoom(lodgers []Lodger, wanted TypeName, short int, now time.Time) int {
	oldest := -1
	for i, l := range lodgers {
		if l.Leaving && !(l.State == Freeing && now.Sub(l.Since) >= SlowExit) {
			if short--; short <= 0 {
				return -1
			}
		}
		if l.Type != wanted && l.Freeable(now) && (oldest < 0 || l.Since.Before(lodgers[oldest].Since)) {
			oldest = i
		}
	}
	return oldest
}

// GiveUp says whether work that waits on a host goes back to the queue, and
// why: no child of its type is there nor may come (agent_fails), or the slots
// were others' for longer than patience (no_room).
func GiveUp(live, may int, waited, patience time.Duration) (why string, back bool) {
	switch {
	case live > 0:
		return "", false
	case may == 0:
		return "agent_fails", true
	case waited < patience:
		return "", false
	}
	return "no_room", true
}
