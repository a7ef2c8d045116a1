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
		if err != nil || got != x.want {
			t.Errorf("%s: %s, %v; want %s", x.why, got, err, x.want)
		}
	}
}
