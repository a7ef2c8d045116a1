package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDeal_IdleFirstThenMostRoom(t *testing.T) {
	t.Parallel()
	idle, busy := func(free int) Seat { return Seat{true, free} }, func(free int) Seat { return Seat{false, free} }
	for _, c := range []struct {
		name        string
		seats       []Seat
		n           int
		seat, lines int
	}{
		{"nobody", nil, 3, -1, 0},
		{"nothing waits", []Seat{idle(1)}, 0, -1, 0},
		{"nobody has room", []Seat{busy(0), idle(0)}, 3, -1, 0},
		{"idle before the one with more room", []Seat{busy(9), idle(1)}, 3, 1, 1},
		{"an even share for each", []Seat{idle(8), idle(8)}, 5, 0, 3},
		{"no more than wait", []Seat{busy(8)}, 5, 0, 5},
		{"the most room among the busy", []Seat{busy(2), busy(5)}, 9, 1, 5},
	} {
		if seat, lines := Deal(c.seats, c.n); seat != c.seat || lines != c.lines {
			t.Errorf("%s: %d lines to seat %d, want %d to %d", c.name, lines, seat, c.lines, c.seat)
		}
	}
}

// Dealing ends with no line left or no room left, gives nobody more than it
// takes, and leaves nobody idle while somebody else holds two lines it was given.
func TestDeal_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seats := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Seat {
			return Seat{rapid.Bool().Draw(t, "idle"), rapid.IntRange(0, 8).Draw(t, "free")}
		}), 0, 6).Draw(t, "seats")
		left := rapid.IntRange(0, 40).Draw(t, "lines")
		got, was := make([]int, len(seats)), append([]Seat(nil), seats...)
		for {
			i, n := Deal(seats, left)
			if n == 0 {
				break
			}
			if n < 0 || n > seats[i].Free || n > left {
				t.Fatalf("%d lines of %d to %+v", n, left, seats[i])
			}
			left, got[i] = left-n, got[i]+n
			seats[i].Free, seats[i].Idle = seats[i].Free-n, false
		}
		for i, s := range seats {
			if left > 0 && s.Free > 0 {
				t.Fatalf("%d lines wait beside %+v", left, s)
			}
			if was[i].Idle && was[i].Free > 0 && got[i] == 0 {
				for j := range seats {
					if got[j] > 1 {
						t.Fatalf("seat %d stands idle beside %d, which got %d", i, j, got[j])
					}
				}
			}
		}
	})
}

func TestMakeRoom_KillRules(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	const min = 20 * time.Second
	ready := func(typ TypeName, ago time.Duration) Lodger {
		return Lodger{Type: typ, State: ChildReady, Since: now.Add(-ago), Keep: min}
	}
	with := func(l Lodger, f func(*Lodger)) Lodger { f(&l); return l }
	leaves := with(ready("a", min), func(l *Lodger) { l.Leaving = true })
	freeing := func(ago time.Duration) Lodger {
		return with(leaves, func(l *Lodger) { l.State, l.Since = Freeing, now.Add(-ago) })
	}
	for _, c := range []struct {
		name    string
		lodgers []Lodger
		short   int
		want    int
	}{
		{"nobody", nil, 1, -1},
		{"READY for as long as it is kept", []Lodger{ready("a", min)}, 1, 0},
		{"not before", []Lodger{ready("a", min-time.Nanosecond)}, 1, -1},
		{"the one idle for longest", []Lodger{ready("a", min), ready("a", 3*min), ready("c", 2*min)}, 1, 1},
		{"never one of the type that wants to come up", []Lodger{ready("b", min)}, 1, -1},
		{"never one at work", []Lodger{with(ready("a", min), func(l *Lodger) { l.State = Busy })}, 1, -1},
		{"never one that is coming up", []Lodger{with(ready("a", min), func(l *Lodger) { l.State = Spawned })}, 1, -1},
		{"not one with work on its way", []Lodger{with(ready("a", min), func(l *Lodger) { l.Given = true })}, 1, -1},
		{"not one whose own type has work waiting", []Lodger{with(ready("a", min), func(l *Lodger) { l.Wanted = true })}, 1, -1},
		{"one for each line that waits", []Lodger{ready("a", min), leaves}, 1, -1},
		{"two for two", []Lodger{ready("a", min), leaves}, 2, 0},
		{"one that goes counts while it may be going", []Lodger{ready("a", min), freeing(SlowExit - 1)}, 1, -1},
		{"one that does not want to go is not waited for", []Lodger{ready("a", min), freeing(SlowExit)}, 1, 0},
		{"nothing is lost by one that is not kept", []Lodger{with(ready("a", 0), func(l *Lodger) { l.Keep = 0 })}, 1, 0},
	} {
		if got := MakeRoom(c.lodgers, "b", c.short, now); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestGiveUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live, may int
		waited    time.Duration
		why       string
		back      bool
	}{
		{1, 0, time.Hour, "", false}, // its turn comes
		{0, 0, 0, "agent_fails", true},
		{0, 1, time.Second, "", false},
		{0, 1, 2 * time.Second, "no_room", true},
	} {
		if why, back := GiveUp(c.live, c.may, c.waited, 2*time.Second); why != c.why || back != c.back {
			t.Errorf("%+v: %q %t", c, why, back)
		}
	}
}

// Whatever is asked for, asked again at once nothing more is: a credit is out
// until it is spent, and slots are never promised twice.
func TestAsk_NeverTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return rapid.IntRange(0, 9).Draw(t, name) }
		a := TypeCapacity{Room: n("room"), Pending: n("pending"), Granted: n("granted"), Coming: n("coming"), Spawnable: n("could"),
			Idle: n("idle"), Busy: n("busy")}
		now, spawn := a.Ask()
		if now < 0 || spawn < 0 || spawn > a.Spawnable || now > a.Room {
			t.Fatalf("%+v asks for %d and %d", a, now, spawn)
		}
		a.Granted += now
		if again, _ := a.Ask(); again != 0 {
			t.Fatalf("%+v asks for %d more", a, again)
		}
		s := Slots{All: n("all"), Taken: n("taken"), Freeable: n("freeable"), Short: a.Short(), Granted: n("slots granted")}
		more := s.Ask()
		if more < 0 || more > 0 && s.Taken-s.Freeable+s.Short+s.Granted+more > s.All {
			t.Fatalf("%+v asks for %d", s, more)
		}
		s.Granted += more
		if again := s.Ask(); again != 0 {
			t.Fatalf("%+v asks for %d more", s, again)
		}
	})
}

// While all have a line in hand, what comes behind it is asked for by three
// quarters of them at a time. Who has nothing to do is never waited for.
func TestAsk_ByThreeQuartersOfTheChildrenAtATime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		capacity TypeCapacity
		now      int
	}{
		{TypeCapacity{Busy: 1, Room: 1}, 1},
		{TypeCapacity{Busy: 4, Room: 1}, 0},
		{TypeCapacity{Busy: 2, Room: 1}, 1},
		{TypeCapacity{Busy: 4, Room: 2}, 0},
		{TypeCapacity{Busy: 4, Room: 3}, 3},
		{TypeCapacity{Busy: 4, Room: 3, Granted: 2}, 0}, // the other one is on its way
		{TypeCapacity{Busy: 3, Idle: 1, Room: 1}, 1},
		{TypeCapacity{Busy: 4, Room: 200}, 200},
	} {
		if now, _ := c.capacity.Ask(); now != c.now {
			t.Errorf("%+v asks for %d", c.capacity, now)
		}
	}
}
