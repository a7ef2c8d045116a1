package notice

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A receiver that hangs takes its own slots and no more; one that fails gets one message at a time until one gets
// through; one that asks for a pause gets none before it is over, and an hour is the longest.
func TestTraffic(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var a Traffic
	left := func(at time.Duration, name string) int {
		room := a.Room(now.Add(at))
		if n := slices.Index(room.Receivers, name); n >= 0 {
			return room.Rooms[n]
		}
		return room.Each
	}
	want := func(what string, at time.Duration, n int) {
		t.Helper()
		if got := left(at, "x"); got != n {
			t.Errorf("%s: room for %d, want %d", what, got, n)
		}
	}
	for range Each {
		a.Start("x")
	}
	want("it hangs", 0, 0)
	if room := a.Room(now); room.Most != Slots-Each || !slices.Equal(room.Full, []string{"x"}) || left(0, "y") != Each {
		t.Errorf("beside it: %+v", room)
	}
	for range Each {
		a.End("x", Outcome{Error: "timeout"}, now)
	}
	want("it has failed", time.Second, 1)
	a.Start("x")
	a.End("x", Outcome{}, now)
	want("it is well again", time.Second, Each)
	a.Start("x")
	a.End("x", Outcome{Error: "no such mailbox", Over: true}, now)
	want("it has refused one for good", time.Second, Each)
	a.Start("x")
	a.End("x", Outcome{Error: "429", Pause: 30 * time.Second}, now)
	want("it wants a pause", 29*time.Second, 0)
	if next := a.Room(now.Add(10 * time.Second)).Next; next != 20*time.Second {
		t.Errorf("the pause is over in %v", next)
	}
	want("the pause is over", 30*time.Second, 1)
	a.Start("x")
	a.End("x", Outcome{Error: "429", Pause: 24 * time.Hour}, now)
	want("the pause is too long", time.Hour-time.Second, 0)
	want("an hour is over, and the failure forgotten", time.Hour, Each)
	if len(a.receivers) != 0 {
		t.Errorf("%d receivers are kept for nothing", len(a.receivers))
	}
}

// Whatever is started within the room that there is, no receiver has more than its bound, nor all more than theirs.
func TestTraffic_Bounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a Traffic
		now, under, all := time.Unix(0, 0), map[string]int{}, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "receiver")
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "s")) * time.Second)
			if under[name] > 0 && rapid.Bool().Draw(t, "ends") {
				a.End(name, Outcome{Error: rapid.SampledFrom([]string{"", "e"}).Draw(t, "error"),
					Pause: time.Duration(rapid.IntRange(0, 9000).Draw(t, "pause")) * time.Second}, now)
				under[name], all = under[name]-1, all-1
				continue
			}
			room := a.Room(now)
			left := min(room.Each, room.Most)
			if n := slices.Index(room.Receivers, name); n >= 0 {
				left = min(left, room.Rooms[n])
			}
			if left > 0 {
				a.Start(name)
				under[name], all = under[name]+1, all+1
			}
			if under[name] > Each || all > Slots || room.Most != Slots-all+min(1, max(0, left)) && left > 0 {
				t.Fatalf("%d to %s, %d in all; room %+v", under[name], name, all, room)
			}
			if room.Next > MostPause {
				t.Fatalf("a pause of %v", room.Next)
			}
		}
	})
}
