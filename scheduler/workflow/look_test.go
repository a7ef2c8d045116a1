package workflow

import (
	"fmt"
	"testing"
	"time"
)

func TestLook_Table(t *testing.T) {
	t.Parallel()
	every := func(d time.Duration, s Sensor) Sensor { s.Every = Duration(d); return s }
	for _, x := range []struct {
		why    string
		sensor Sensor
		next   string
		recent []string
		open   bool
		want   string // at 10:00:30
	}{
		{"a new one waits", every(time.Minute, Sensor{}), "", nil, false, "next 10:01:00"},
		{"it fires", every(time.Minute, Sensor{}), "10:00:00", nil, true, "fires 10:00:00 next 10:01:00"},
		{"the first after a finish fires at once", every(time.Minute, Sensor{AfterFinish: true}), "", nil, false, "fires 10:00:30 waits"},
		{"not while a run is open", every(time.Minute, Sensor{AfterFinish: true}), "10:00:00", nil, true, "waits"},
		{"not too soon after a finish", every(time.Minute, Sensor{AfterFinish: true}), "10:00:40", nil, false, "next 10:00:40"},
		{"after a finish", every(time.Minute, Sensor{AfterFinish: true}), "10:00:29", nil, false, "fires 10:00:30 waits"},
		{"so often and no more", every(time.Minute, Sensor{AfterFinish: true, AtMost: 2, Per: Duration(time.Hour)}), "10:00:29",
			[]string{"10:00:00", "09:59:00"}, false, "next 10:59:00"},
		{"what is long ago does not count", every(time.Minute, Sensor{AfterFinish: true, AtMost: 2, Per: Duration(time.Hour)}), "10:00:29",
			[]string{"10:00:00", "09:00:30"}, false, "fires 10:00:30 waits"},
		{"slots over the limit do not fire", every(10*time.Second, Sensor{AtMost: 2, Per: Duration(time.Minute)}), "10:00:10",
			[]string{"10:00:00", "09:00:00"}, false, "fires 10:00:10 next 10:00:40"},
		{"and with all they wait", every(10*time.Second, Sensor{AtMost: 2, Per: Duration(time.Minute), CatchUp: CatchUpAll}), "10:00:10",
			[]string{"10:00:00", "09:00:00"}, false, "fires 10:00:10 next 10:00:20"},
		{"held, and the last slot is what is missed", every(10*time.Minute, Sensor{AtMost: 1, Per: Duration(time.Hour)}), "10:00:00",
			[]string{"09:30:05"}, false, "next 10:30:05 held 10:30:00"},
		{"held, and all are", every(10*time.Minute, Sensor{AtMost: 1, Per: Duration(time.Hour), CatchUp: CatchUpAll}), "10:00:00",
			[]string{"09:30:05"}, false, "next 10:30:05 held 10:00:00"},
		{"held, but not as long as the next slot", every(10*time.Minute, Sensor{AtMost: 1, Per: Duration(time.Hour)}), "10:10:00",
			[]string{"09:05:00"}, false, "next 10:10:00"},
		{"a new one keeps to the times of all", every(10*time.Minute, Sensor{AtMost: 1, Per: Duration(time.Hour)}), "",
			[]string{"09:30:05"}, false, "next 10:10:00"},
		{"cron", Sensor{Cron: "*/5 * * * *"}, "10:00:00", nil, false, "fires 10:00:00 next 10:05:00"},
	} {
		seen := Seen{Next: at(t, x.next), Now: at(t, "10:00:30"), Open: x.open}
		for _, r := range x.recent {
			seen.Recent = append(seen.Recent, at(t, r))
		}
		then, err := x.sensor.Look(seen)
		got := ""
		for _, f := range then.Fire {
			got += "fires " + f.At.Format("15:04:05") + " "
		}
		if then.Waits {
			got += "waits"
		} else {
			got += fmt.Sprint("next ", then.Next.Format("15:04:05"))
		}
		if !then.Held.IsZero() {
			got += then.Held.Format(" held 15:04:05")
		}
		if err != nil || got != x.want {
			t.Errorf("%s: %s, %v; want %s", x.why, got, err, x.want)
		}
	}
}

// However slow its runs are: a sensor that makes up for all of its slots waits while as many are queued as may be, and
// then goes on where it was: each slot fires once, in order.
func TestLook_AllWaitsForRoom(t *testing.T) {
	t.Parallel()
	s := Sensor{Every: Duration(time.Second), CatchUp: CatchUpAll}
	now := at(t, "10:00:01")
	begin := now
	var next, held time.Time
	queued, fired, most := MostQueued-3, 0, 0
	for ; now.Before(at(t, "10:10:00")); now = now.Add(time.Second) {
		if now.Second()%2 == 0 && queued > 0 { // one run is over
			queued--
		}
		if next.After(now) {
			continue
		}
		seen := Seen{Next: next, Now: now, Queued: queued}
		if !held.IsZero() {
			seen.Next = held
		}
		then, err := s.Look(seen)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range then.Fire {
			if want := begin.Add(time.Duration(fired+1) * time.Second); !f.At.Equal(want) || !f.Caught {
				t.Fatalf("%+v fires, want %s", f, want)
			}
			fired++
			queued++
		}
		most = max(most, queued)
		if next, held = then.Next, then.Held; !next.After(now) {
			t.Fatalf("at %s it looks again at %s", now, next)
		}
	}
	if most != MostQueued || fired < 290 {
		t.Errorf("%d were queued, and %d fired", most, fired)
	}
}

// However seldom it may fire: each slot of a sensor that makes up for all fires once, in order, and none off the grid.
func TestLook_AtMostAndAll(t *testing.T) {
	t.Parallel()
	s := Sensor{Every: Duration(10 * time.Second), AtMost: 2, Per: Duration(time.Minute), CatchUp: CatchUpAll}
	now := at(t, "10:00:01")
	var next, held time.Time
	var fired, starts []time.Time
	for ; now.Before(at(t, "11:00:00")); now = now.Add(time.Second) {
		if next.After(now) {
			continue
		}
		seen := Seen{Next: next, Now: now, Recent: starts[:min(len(starts), s.AtMost)]}
		if !held.IsZero() {
			seen.Next = held
		}
		then, err := s.Look(seen)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range then.Fire {
			fired, starts = append(fired, f.At), append([]time.Time{now}, starts...)
		}
		next, held = then.Next, then.Held
	}
	if len(fired) < 118 { // two a minute
		t.Errorf("%d fired", len(fired))
	}
	for i, slot := range fired {
		if want := at(t, "10:00:10").Add(time.Duration(i) * 10 * time.Second); !slot.Equal(want) {
			t.Fatalf("slot %d is %s, want %s", i, slot, want)
		}
	}
}
