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
		d.Ring++ // a tail would not do
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
	now = now.Add(max(tripLife, walkShare*long) + 1) // what the long walk found is void
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

// Where a claim of everything walks past many dead entries, small claims of a backlog begin where the last one ended,
// too, and for a time that keeps such walks rare. A ring, which the safety scan is, ends that.
func TestPosition_SmallClaimsOfABacklogDoNotWalkAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		walk, later time.Duration
		tail        bool
	}{
		{horizonWhen - 1, 0, false}, {horizonWhen, 0, true}, {horizonWhen, tailLife, true}, {horizonWhen, tailLife + 1, false},
		{tailLife, walkShare * tailLife, true}, {tailLife, walkShare*tailLife + 1, false},
	} {
		p, d := New(), catDemand(1)
		p.Next(d, p.From(d, positionStart), Taken{}, cats(1, 1), positionStart, positionStart.Add(c.walk))
		at := positionStart.Add(c.later)
		if f := p.From(d, at); f.tail != c.tail || c.tail && f.Behind != (Key{ID: 1}) {
			t.Errorf("after a walk of %s, %s later it begins at %+v", c.walk, c.later, f)
		}
		d.Ring++
		if f := p.From(d, at); f.Behind != Beginning {
			t.Errorf("after a ring it begins at %+v", f)
		}
	}
}

// A burst that claims above a snapshot bring in little time is no reason to walk past dead entries instead.
func TestPosition_ABurstKeepsTheSnapshotWhileItIsQuick(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claims, jobs int
		took         time.Duration
		above        bool
	}{
		{claims: 1000, jobs: 64, took: 2 * time.Millisecond, above: true},
		{claims: 4, jobs: 64, took: 20 * time.Millisecond, above: true},
		{claims: 5, jobs: 64, took: 20 * time.Millisecond, above: false}, // as long as a walk
		{claims: 1, jobs: 64, took: 200 * time.Millisecond, above: false},
		{claims: 100, jobs: 63, took: 20 * time.Millisecond, above: true}, // nothing is left: the machine is slow
	} {
		p, d, now := New(), catDemand(64), positionStart
		const walk = 100 * time.Millisecond
		p.Next(d, p.From(d, now), Taken{}, nil, now, now.Add(walk))
		f := p.From(d, now)
		if !f.Snapshot {
			t.Fatal("no snapshot after a long walk")
		}
		p.Next(d, f, Taken{Text: "10:12:11", Took: time.Microsecond}, nil, now, now.Add(walk))
		for range c.claims {
			f = p.From(d, now)
			p.Next(d, f, Taken{}, cats(1, c.jobs), now, now.Add(c.took))
		}
		if f := p.From(d, now); (f.Above != nil) != c.above {
			t.Errorf("after %d claims of %d jobs in %s it begins at %+v", c.claims, c.jobs, c.took, f)
		}
	}
}

// Bursts that claims above a snapshot have worked off each time are no reason either, however many there were.
func TestPosition_BurstsThatEndKeepTheSnapshot(t *testing.T) {
	t.Parallel()
	const walk = 100 * time.Millisecond
	p, d, now := New(), catDemand(64), positionStart
	claim := func(jobs int, took time.Duration) {
		f, taken := p.From(d, now), Taken{}
		if f.Snapshot {
			taken = Taken{Text: "10:12:11", Took: time.Microsecond}
		}
		p.Next(d, f, taken, cats(1, jobs), now, now.Add(took))
		now = now.Add(took)
	}
	claim(0, walk)
	claim(0, walk)
	for range 10 {
		for range 4 {
			claim(64, walk/5)
		}
		now = now.Add(2 * horizonFresh) // a snapshot is taken before the next
		if f := p.From(d, now); f.Above == nil {
			t.Fatalf("it begins at %+v", f)
		}
		claim(63, walk/5)
	}
}

// Where a claim of everything walks past many dead entries, a ring makes no other of these. What came before the tail
// is looked for among the rows that a snapshot did not show. A short claim behind the tail shows that nothing is left.
func TestPosition_ARingIsAnsweredWithoutAWalk(t *testing.T) {
	t.Parallel()
	const walk = 100 * time.Millisecond
	p, d, now := looking(), catDemand(2), positionStart
	p.Next(d, p.From(d, now), Taken{}, cats(1, 2), now, now.Add(walk)) // from now on, snapshots are taken
	d.Ring++
	f := p.From(d, now)
	if !f.Snapshot || f.Above != nil {
		t.Fatalf("it begins at %+v", f)
	}
	p.Next(d, f, Taken{Text: "10:12:11"}, cats(3, 2), now, now.Add(walk))
	if f := p.From(d, now); f.Behind != (Key{ID: 4}) || f.Above != nil {
		t.Errorf("nothing rang: it begins at %+v", f)
	}
	d.Ring++
	f = p.From(d, now)
	if f.Above == nil || f.Above.Xmax != "12" || f.Upto != (Key{ID: 4}) || !f.Snapshot {
		t.Fatalf("after a ring it begins at %+v", f)
	}
	if _, more := p.Next(d, f, Taken{Text: "20:22:21"}, cats(1, 2), now, now); more {
		t.Error("as many came as were asked for, and there is more to do")
	}
	if f := p.From(d, now); f.Above == nil || f.Above.Xmax != "12" {
		t.Errorf("there may be more before the tail: it begins at %+v", f)
	}
	rest, more := p.Next(d, p.From(d, now), Taken{Text: "30:32:31"}, cats(1, 1), now, now)
	if !more || rest.Total != 1 {
		t.Fatalf("more %v: %+v", more, rest)
	}
	f = p.From(rest, now)
	if f.Behind != (Key{ID: 4}) || f.Above != nil {
		t.Fatalf("the rest begins at %+v", f)
	}
	p.Next(rest, f, Taken{}, nil, now, now)
	if f := p.From(rest, now); f.Above == nil || f.Above.Xmax != "32" || f.Upto != End {
		t.Errorf("nothing was left under the last snapshot: it begins at %+v", f)
	}
	d.Readmitted++
	if f := p.From(d, now); f.Above == nil || f.Look == nil || f.Look.Xmax != "32" {
		t.Errorf("something is ready again, and only a look is to walk: it begins at %+v", f)
	}
}
