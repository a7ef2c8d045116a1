package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler/lock"
	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// A job that expires before it begins is not promised, however late its time is.
func TestPromise_OfAJobThatExpires(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	var took, slow sketch.Sketch
	for range 100 {
		took.Add(time.Minute)
	}
	for i := range 100 { // 60 take a minute, the others ten
		slow.Add(time.Duration(1+i/60*9) * time.Minute)
	}
	holds := func(typ string) view.Ahead {
		a := view.Ahead{Sketches: view.Sketches{Took: map[string]sketch.Sketch{"cat": took, "slow": slow}}}
		a.Now, a.Slots = now, 1
		a.Jobs = []lock.Seen{{Job: 1, Type: typ, Holds: true, Since: now, Started: now}}
		c := lock.Coming{At: now}
		c.Job = lock.Job{ID: mine, Type: "cat", Since: now}
		a.Coming = []lock.Coming{c}
		return a
	}
	in := func(d time.Duration) *time.Duration { return &d }
	at := func(d time.Duration) *time.Time { at := now.Add(d); return &at }
	for _, c := range []struct {
		behind   string
		job      view.Submission
		says     string
		promised bool
	}{
		{"cat", view.Submission{}, "", true},
		{"cat", view.Submission{NotAfter: at(2 * time.Minute)}, "", true},
		{"cat", view.Submission{NotAfterIn: in(2 * time.Minute)}, "", true},
		{"cat", view.Submission{NotAfter: &view.Never}, "", true},
		{"cat", view.Submission{NotAfter: at(30 * time.Second)}, "it would never run", false},
		{"cat", view.Submission{NotAfterIn: in(30 * time.Second)}, "it would never run", false},
		{"cat", view.Submission{NotAfter: at(-time.Second)}, "it would never run", false},
		{"slow", view.Submission{}, "", true},
		{"slow", view.Submission{NotAfterIn: in(5 * time.Minute)}, "it may start too late", false},
		{"slow", view.Submission{NotAfterIn: in(20 * time.Minute)}, "", true},
	} {
		c.job.Type = "cat"
		p := Promise{By: now.Add(time.Hour)}
		p.judge(holds(c.behind), c.job)
		said := slices.ContainsFunc(p.Reasons, func(why string) bool { return strings.Contains(why, c.says) })
		if p.Yes != c.promised || said == p.Yes {
			t.Errorf("behind %s, not after %v or %v: promised %v with %v, because of %q", c.behind, c.job.NotAfter,
				c.job.NotAfterIn, p.Yes, p.Certainty, p.Reasons)
		}
	}
}
