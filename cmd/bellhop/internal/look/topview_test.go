package look

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

func busyView() topView {
	job := int64(42)
	v := topView{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Instances: []view.InstanceRow{{ID: 1}},
		Hosts: []view.HostRow{
			{Instance: 1, Name: "local", Slots: 8, Children: 3, Running: 2},
			{Instance: 1, Name: "none", Slots: 0},
		},
		Queue: []view.QueueRow{
			{State: "ready", Type: "a", Jobs: 12, Why: "no_room"},
			{State: "running", Type: "a", Jobs: 2},
			{State: "assigned", Type: "a", Jobs: 4},
			{State: "held", Jobs: 3},
			{State: "ready", Type: "öd", Jobs: 1, Why: "unknown_type"},
		}}
	ago := 7.0
	v.Locks = []view.LockHead{
		{Level: "customer", Name: "42", Mode: "exclusive", Holders: 1, Job: 17, Held: &ago, Waiting: 3, Oldest: &ago},
		{Level: "node", Name: "*", Mode: "shared", Holders: 2, Job: 18, Held: &ago},
		{Level: "rate-limit", Name: "2:mail", Waiting: 1000, Oldest: &ago},
	}
	for n := range 5 {
		v.Shares = append(v.Shares, view.ShareHead{
			Type: "a", Name: strings.Repeat("customer ", 9) + string(rune('a'+n)), Weight: 1.5, Waiting: 12, Keys: 7,
		})
	}
	for n := range 30 {
		v.Children = append(
			v.Children,
			view.ChildRow{
				Instance: 1,
				Host:     "local",
				Name:     "a.1",
				Type:     "a",
				State:    "RUNNING",
				Job:      &job,
				Done:     int64(n),
				Age:      3,
			},
		)
	}
	return v
}

func TestTop_FrameTellsHostsQueueAndChildren(t *testing.T) {
	t.Parallel()
	v := busyView()
	v.Children = v.Children[:1]
	var p pace
	p.took(&v)
	v.Children = []view.ChildRow{v.Children[0]}
	v.Children[0].Done, v.At = 300, v.At.Add(2*time.Second)
	p.took(&v)
	text := strings.Join(v.frame(0, 0), "\n")
	for _, want := range []string{"03:04:07  150/s  running 2  ready 13  children 3/8", "held 3  assigned 4\n", "local  3/8    ########............  2", "none   0/0    --------------------",
		"a     12     4         2        150/s  no_room", "öd    1      0         0        0.0/s  unknown_type", "a.1    RUNNING",
		"customer:42        job 17, exclusive  7s   3             7s", "node:*             2 jobs, shared     7s   0             -",
		"rate-limit:2:mail  -                  -    1000 or more  7s", "customer b  1.5     12       0\n", "a     … 2 more keys  "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	v.Shares[4].Keys = view.ShareKeysMost
	if text := strings.Join(v.frame(0, 0), "\n"); !strings.Contains(text, "… 195 more keys or more") {
		t.Errorf("it counts keys that were not looked at:\n%s", text)
	}
	if text := strings.Join(v.only("öd").frame(0, 0), "\n"); strings.Contains(text, "customer customer") {
		t.Errorf("a filter leaves keys of another type:\n%s", text)
	}
	if text := strings.Join(topView{}.frame(0, 0), "\n"); !strings.Contains(text, NoInstance) {
		t.Errorf("nobody runs:\n%s", text)
	}
}

// However small the terminal: no line is wider, and no more lines than it has.
func TestTop_FrameFitsAnyTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 120).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height")
		lines := busyView().frame(width, height)
		if len(lines) > height || len(lines) == 0 {
			t.Fatalf("%d lines on %d", len(lines), height)
		}
		for _, line := range lines {
			if n := words.Width(line); n > width || strings.ContainsAny(line, "\n\x1b") {
				t.Fatalf("%d characters on %d: %q", n, width, line)
			}
		}
	})
}
