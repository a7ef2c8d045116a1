package position

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

var positionStart = time.Unix(1000, 0)

func catDemand(n int) scheduler.Demand {
	return scheduler.Demand{Host: "local", Total: n, MSQ: true, Ring: 1, Readmitted: 1,
		Types: []scheduler.TypeDemand{{Type: "cat", Limit: n, MaxPriority: 19}}}
}

func cats(first, n int) []scheduler.Job {
	jobs := make([]scheduler.Job, n)
	for i := range jobs {
		jobs[i].Type, jobs[i].Claim.Job = "cat", scheduler.JobID(first+i)
	}
	return jobs
}

// afterBacklog has claimed from the beginning all that it asked for: a tail.
func afterBacklog() *Position {
	p := New()
	d := catDemand(32)
	p.Next(d, p.From(d, positionStart), Taken{}, cats(1, 32), positionStart, positionStart)
	return p
}

// afterNothing has found the queue empty under a snapshot: a horizon.
func afterNothing() *Position {
	p := New()
	p.Eager(horizonLife)
	d := catDemand(32)
	for range 2 { // the first one was slow, before the second a snapshot is taken
		f, snapshot := p.From(d, positionStart), Taken{}
		if f.Snapshot {
			snapshot.Text = "10:12:11"
		}
		p.Next(d, f, snapshot, nil, positionStart, positionStart)
	}
	return p
}

func TestPosition_ClaimsBeginWhereNothingIsMissed(t *testing.T) {
	t.Parallel()
	change := func(f func(*scheduler.Demand)) scheduler.Demand { d := catDemand(32); f(&d); return d }
	for name, c := range map[string]struct {
		p     *Position
		d     scheduler.Demand
		later time.Duration
		tail  bool
		above bool
	}{
		"at the beginning, when nothing is known":     {New(), catDemand(32), 0, false, false},
		"behind a backlog's last job":                 {afterBacklog(), catDemand(32), 0, true, false},
		"at the beginning, when something rang":       {afterBacklog(), change(func(d *scheduler.Demand) { d.Ring++ }), 0, false, false},
		"at the beginning, after a second":            {afterBacklog(), catDemand(32), tailLife + 1, false, false},
		"at the beginning, for another type":          {afterBacklog(), change(func(d *scheduler.Demand) { d.Types[0].Type = "dog" }), 0, false, false},
		"at the beginning, where localities count":    {afterBacklog(), change(func(d *scheduler.Demand) { d.Localities = []string{"x"} }), 0, false, false},
		"above a snapshot that left nothing":          {afterNothing(), catDemand(32), 0, false, true},
		"above it though something was inserted":      {afterNothing(), change(func(d *scheduler.Demand) { d.Ring++ }), 0, false, true},
		"at the beginning, when something came back":  {afterNothing(), change(func(d *scheduler.Demand) { d.Readmitted++ }), 0, false, false},
		"at the beginning, after four seconds":        {afterNothing(), catDemand(32), horizonLife + 1, false, false},
		"at the beginning, when others may be before": {afterNothing(), change(func(d *scheduler.Demand) { d.Preemptors = []scheduler.TypeName{"x"} }), 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.p.From(c.d, positionStart.Add(c.later))
			if (f.Behind != Beginning) != c.tail || (f.Above != nil) != c.above {
				t.Errorf("begins at %+v", f)
			}
		})
	}
}

func TestPosition_AShortAnswerBehindATailIsNoProof(t *testing.T) {
	t.Parallel()
	p, d := afterBacklog(), catDemand(32)
	f := p.From(d, positionStart)
	rest, more := p.Next(d, f, Taken{}, cats(33, 5), positionStart, positionStart)
	if !more || rest.Total != 27 || rest.Types[0].Limit != 27 || d.Types[0].Limit != 32 {
		t.Errorf("more %v, the rest %+v of %+v", more, rest, d)
	}
	if f := p.From(rest, positionStart); f.Behind != Beginning {
		t.Errorf("the rest begins at %+v", f)
	}
	if _, more := p.Next(rest, p.From(rest, positionStart), Taken{}, nil, positionStart, positionStart); more {
		t.Error("a claim of everything is followed by another")
	}
}

func TestPosition_ATailGoesOnWithWhatComes(t *testing.T) {
	t.Parallel()
	p, d := afterBacklog(), catDemand(32)
	if _, more := p.Next(d, p.From(d, positionStart), Taken{}, cats(33, 32), positionStart, positionStart); more {
		t.Error("more though all came")
	}
	if f := p.From(d, positionStart); f.Behind != (Key{ID: 64}) {
		t.Errorf("begins at %+v", f)
	}
	p.Forget()
	if f := p.From(d, positionStart); f.Behind != Beginning {
		t.Errorf("after a lost connection at %+v", f)
	}
}

func TestPosition_ASnapshotWithTooMuchUnderWayIsNone(t *testing.T) {
	t.Parallel()
	many := "10:99:11"
	for range horizonInProgress {
		many += ",12"
	}
	for _, text := range []string{"", "10:12", many} {
		if _, ok := snapshotHorizon(text); ok {
			t.Errorf("%.20q is one", text)
		}
	}
}

// A claim that takes long on a machine on which everything does is no sign of dead entries: no snapshot is taken before
// each of them then.
func TestPosition_ASlowMachineIsNotALongWalk(t *testing.T) {
	t.Parallel()
	p, d, now := New(), catDemand(4), positionStart
	claim := func(trip, took time.Duration) (snapshot bool) {
		f, s := p.From(d, now), Taken{}
		if f.Snapshot {
			s = Taken{Text: "10:12:11", Took: trip}
		}
		p.Next(d, f, s, cats(1, 4), now, now.Add(took)) // as many as were asked for: nothing is known of the rest
		now = now.Add(took)
		return f.Snapshot
	}
	const busy, long, quick = 5 * time.Millisecond, 60 * time.Millisecond, 200 * time.Microsecond
	snapshots := 0
	for range 100 { // half a second
		if claim(busy/2, busy) {
			snapshots++
		}
	}
	if snapshots != 1 {
		t.Errorf("%d snapshots among 100 claims that take as long as two bare statements", snapshots)
	}
	if claim(busy/2, long); !claim(busy/2, long) {
		t.Error("none before a claim that takes as long as many")
	}
	now = now.Add(tripLife)
	if claim(quick, quick); claim(quick, quick) {
		t.Error("one where claims are quick")
	}
	claim(quick, busy)
	for range 2 {
		if !claim(quick, busy) {
			t.Error("none where only claims are slow")
		}
	}
}
