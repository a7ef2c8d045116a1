package actors

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// kind is what a host knows of one type.
type kind struct {
	AgentType
	tally   *tally
	respawn scheduler.Respawn
	trouble scheduler.Account // of the last death, told while none comes up or the type is barred
	granted int
	spawn   int // lines for which children could come up
	told    int // of these, what the dispatcher knows; untold: it has to be told
	pending []pending
	kids    []*kid
	gave    time.Time     // when one of them was last told to make room
	line    time.Duration // what a line takes a child; 0: not known
	start   time.Duration // what it took a child to come up; 0: not known
	short   time.Time     // since when its children, all of them up, have had more than they have room for; zero: they have not
}

const untold = -1

type pending struct {
	line  scheduler.Line
	since time.Time
}

// takeBack puts lines that were not started where they were in the order.
func (kind *kind) takeBack(lines []scheduler.Line, now time.Time) {
	for _, l := range lines {
		kind.pending = append(kind.pending, pending{l, now})
	}
	slices.SortStableFunc(kind.pending, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.line.Priority, b.line.Priority), cmp.Compare(a.line.Claim.Job, b.line.Claim.Job), cmp.Compare(a.line.Item, b.line.Item))
	})
}

// live is how many children of a type hold a slot, and how many of them are
// still coming up.
func (k *kind) live() (n, coming int) {
	for _, kid := range k.kids {
		if kid.state.Live() {
			n++
			if kid.state == scheduler.Prep || kid.state == scheduler.Spawned {
				coming++
			}
		}
	}
	return n, coming
}

// scaleUp is what waits for its children, after they have been given what they
// have room for. Lines wait as long as children are busy with others, and no
// longer: a moment in which all that was dealt is given is no end of that.
func (k *kind) scaleUp(now time.Time) scheduler.ScaleUp {
	b := scheduler.ScaleUp{Lines: len(k.pending), Line: k.line, Start: k.start}
	if k.Exec { // a process for each line, whatever comes
		b.Start = 0
	}
	idle := false
	_, b.Coming = k.live()
	for _, kid := range k.kids {
		if kid.takes() {
			b.Warm++
			idle = idle || kid.seat().Idle
		}
	}
	switch {
	case idle || b.Coming > 0 || b.Warm == 0:
		k.short = time.Time{}
	case k.short.IsZero() && b.Lines > 0:
		k.short = now
	}
	if !k.short.IsZero() {
		b.Waited = now.Sub(k.short)
	}
	return b
}

// patience is for how long its lines wait for children that are up.
func (k *kind) patience() time.Duration { return scheduler.ScaleUp{Start: k.start}.Patience() }

// resting is a child that has no process just now; nil: there is none.
func (k *kind) resting() *kid {
	i := slices.IndexFunc(k.kids, func(kid *kid) bool { return !kid.state.Live() })
	if i < 0 {
		return nil
	}
	return k.kids[i]
}

// yields reports whether a child of it makes room for others.
func (k *kind) yields() bool {
	return slices.ContainsFunc(k.kids, func(kid *kid) bool { return kid.state.Live() && kid.yields })
}

func (k *kind) pending0(now time.Time) time.Time {
	if len(k.pending) == 0 {
		return now
	}
	return k.pending[0].since
}

// kid is a child as its host sees it.
type kid struct {
	pid     *actor.PID
	berth   *berth
	kind    *kind
	state   scheduler.ChildState
	since   time.Time
	room    int
	got     int              // lines that it says it was given
	sent    int              // lines that we gave
	unheard []scheduler.Line // those of them that it has not said it was given
	returns int              // how often it gave some back
	leaving bool
	wanted  time.Time // when it was told to come up
	up      time.Time // when it came up
	yields  bool      // takes no more lines, so that it may go
	spare   bool      // and goes at once when it has nothing to do
}

// takes reports whether it is up, and gets lines as soon as it has room.
func (k *kid) takes() bool {
	return (k.state == scheduler.ChildReady || k.state == scheduler.Busy) && !k.leaving && !k.yields
}

// free is how many more lines the kid takes, those under way to it counted.
func (k *kid) free() int {
	if k.leaving || k.yields {
		return 0
	}
	return max(0, k.room-(k.sent-k.got))
}

// seat is the kid as scheduler.Deal sees it.
func (k *kid) seat() scheduler.Seat {
	return scheduler.Seat{Idle: k.state == scheduler.ChildReady && k.sent == k.got, Free: k.free()}
}

// lodger is the kid as the kill rules see it.
func (k *kid) lodger() scheduler.Lodger {
	return scheduler.Lodger{Type: k.kind.Name, State: k.state, Since: k.since, Exec: k.kind.Exec,
		Given: k.sent != k.got, Wanted: len(k.kind.pending) > 0, Leaving: k.leaving, Spare: k.spare}
}
