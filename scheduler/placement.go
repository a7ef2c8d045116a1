package scheduler

import "time"

// Seat is a child as whoever deals out work sees it.
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

// Deal says which seat gets the next of n waiting lines, and how many at once.
// An idle seat gets no more than an even share among all that have room, so
// that no other one stands idle beside a batch. lines is 0 when nobody has room
// or nothing waits.
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

// Lodger is a child that holds a slot, as whoever needs the slot sees it.
type Lodger struct {
	Type    TypeName
	State   ChildState
	Since   time.Time // when it entered State
	Exec    bool      // idle, it has no process: there is nothing to battle over
	Given   bool      // lines are on their way to it
	Wanted  bool      // lines of its type wait for a child
	Leaving bool      // it has been told to go
	Spare   bool      // its type has no work, and the one that waits does not battle with it (see Tenant.Spare)
}

// Freeable reports whether the kill rules let a child go to make room: READY,
// with nothing to do, and that for at least minReady. Without that pause two
// types would start and kill each other's children over one slot for ever
// (seed 000, MINKILLTIME). Where there is no such battle there is no pause: an
// idle slot is not waited for.
func (l Lodger) Freeable(minReady time.Duration, now time.Time) bool {
	if l.Exec || l.Spare {
		minReady = 0
	}
	return l.State == ChildReady && !l.Leaving && !l.Given && !l.Wanted && now.Sub(l.Since) >= minReady
}

// MakeRoom picks the child that goes so that one of type wanted can come up:
// of the freeable ones of other types the one idle for longest; −1 for none.
// While one is on its way out, no second one goes.
func MakeRoom(lodgers []Lodger, wanted TypeName, minReady time.Duration, now time.Time) int {
	oldest := -1
	for i, l := range lodgers {
		if l.Leaving {
			return -1
		}
		if l.Type != wanted && l.Freeable(minReady, now) && (oldest < 0 || l.Since.Before(lodgers[oldest].Since)) {
			oldest = i
		}
	}
	return oldest
}

// Bounds is what limits how many more children of a type may come up on a
// host, slots aside.
type Bounds struct {
	Live     int // children of the type there
	PerHost  int // of the type on one host; 0: no limit
	Instance int // how many more the type may have on this instance
	Respawn  int // how many more may come up after its deaths
}

// More is how many more children of the type may come up.
func (b Bounds) More() int {
	more := min(b.Respawn, b.Instance)
	if b.PerHost > 0 {
		more = min(more, b.PerHost-b.Live)
	}
	return max(0, more)
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
