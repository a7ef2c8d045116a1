package lock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fives is a policy under which a job ages within five seconds.
func fives(order Order) Policy {
	c := GanetiConstants
	c.Tick, c.AgeingTicks, c.PriorityTick = time.Second, 5, 0
	return Policy{Order: order, Constants: c}
}

// When ages want the next look, by what a pass has seen and chosen. Job 1 holds a:x.
func TestAges_WhenTheNextLookIsWanted(t *testing.T) {
	t.Parallel()
	const never = -time.Hour
	off := fives(Predictive)
	off.Constants.AgeingTicks = 0
	pause := []Rule{{ID: "r", Action: Action{Kind: Pause}}}
	waits := func(id ID, waited time.Duration, locks ...string) Waiting {
		return Waiting{Job: id, Type: "t", Since: epoch.Add(-waited), Locks: locks}
	}
	for name, c := range map[string]struct {
		policy            Policy
		waiting, reserved []Waiting
		rules             []Rule
		room              int
		want              time.Duration // from now on
	}{
		"no job waits":        {fives(Predictive), nil, nil, nil, 5, never},
		"a job waits":         {fives(Predictive), []Waiting{waits(2, time.Second, "a:x=exclusive")}, nil, nil, 5, 4 * time.Second},
		"in the order of ids": {fives(FIFO), []Waiting{waits(2, time.Second, "a:x=exclusive")}, nil, nil, 5, 4 * time.Second},
		"the first of two": {fives(Predictive), []Waiting{waits(2, 0, "a:x=shared"), waits(3, 3*time.Second, "a:x=shared")},
			nil, nil, 5, 2 * time.Second},
		"it starts":          {fives(Predictive), []Waiting{waits(2, time.Second, "a:y=exclusive")}, nil, nil, 5, never},
		"there is no room":   {fives(Predictive), []Waiting{waits(2, time.Second, "a:y=exclusive")}, nil, nil, 0, 4 * time.Second},
		"it wants no lock":   {fives(Predictive), []Waiting{waits(2, time.Second)}, nil, nil, 0, never},
		"it goes there aged": {fives(Predictive), []Waiting{waits(2, 9*time.Second, "a:x=exclusive")}, nil, nil, 5, 0},
		"just aged":          {fives(Predictive), []Waiting{waits(2, 5*time.Second, "a:x=exclusive")}, nil, nil, 5, 0},
		"it is reserved for": {fives(Predictive), nil, []Waiting{waits(2, 9*time.Second, "a:x=exclusive")}, nil, 5, never},
		"both": {fives(Predictive), []Waiting{waits(2, 9*time.Second, "a:x=exclusive")},
			[]Waiting{waits(2, 9*time.Second, "a:x=exclusive")}, nil, 5, never},
		"aged, without room":       {fives(Predictive), []Waiting{waits(2, 9*time.Second, "a:y=exclusive")}, nil, nil, 0, never},
		"it starts aged":           {fives(Predictive), []Waiting{waits(2, 9*time.Second, "a:y=exclusive")}, nil, nil, 5, 0},
		"a reserved one starts":    {fives(Predictive), nil, []Waiting{waits(2, 9*time.Second, "a:y=exclusive")}, nil, 5, 0},
		"a filter pauses it":       {fives(Predictive), []Waiting{waits(2, time.Second, "a:x=exclusive")}, nil, pause, 5, never},
		"it cannot be read":        {fives(Predictive), []Waiting{waits(2, time.Second, "a")}, nil, nil, 5, never},
		"nothing ages":             {off, []Waiting{waits(2, time.Second, "a:x=exclusive")}, nil, nil, 5, never},
		"no job is reserved for":   {fives(Greedy), []Waiting{waits(2, time.Second, "a:x=exclusive")}, nil, nil, 5, never},
		"it is of the near future": {fives(Predictive), []Waiting{waits(2, -time.Second, "a:x=exclusive")}, nil, nil, 5, 6 * time.Second},
	} {
		pass := Pass{Now: epoch, Held: []Grant{{Job: 1, Level: "a", Name: "x", Mode: Exclusive.String()}},
			Waiting: c.waiting, Reserved: c.reserved, Rules: c.rules, Most: map[string]int{"t": c.room}, Total: c.room}
		want := time.Time{}
		if c.want != never {
			want = epoch.Add(c.want)
		}
		if got := c.policy.Ages(pass, c.policy.Choose(pass)); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Of all that is told the earliest counts; what is told before a look begins, that look sees.
func TestLooks_OneTimeForAllThatIsTold(t *testing.T) {
	t.Parallel()
	var l Looks
	wants := func(what string, want time.Duration) {
		t.Helper()
		at := time.Time{}
		if want > 0 {
			at = epoch.Add(want)
		}
		if got := l.At(); !got.Equal(at) {
			t.Errorf("%s: %v, want %v", what, got, at)
		}
	}
	told := func(after time.Duration) { l.Told(epoch.Add(after)) }
	wants("at first", 0)
	l.Told(time.Time{})
	wants("a pass wants none", 0)
	told(5 * time.Second)
	told(3 * time.Second)
	told(4 * time.Second)
	wants("three are told", 3*time.Second)
	l.Begun()
	wants("a look has begun", 0)
	told(9 * time.Second)
	l.Over(epoch.Add(4*time.Second), time.Millisecond, epoch.Add(7*time.Second))
	wants("the look wants one sooner", 7*time.Second)
	l.Begun()
	l.Over(epoch.Add(7*time.Second), time.Millisecond, time.Time{})
	wants("none is wanted any more", 0)
	told(7 * time.Second)
	wants("one at once, after a quick look", 7*time.Second+looksApart)
	l.Begun()
	l.Over(epoch.Add(8*time.Second), time.Second, epoch.Add(8*time.Second))
	wants("one at once, after a slow look", 8*time.Second+looksShare*time.Second)
}

// queued is a queue in virtual time: passes look at jobs that come, at those behind a lock whose holder has ended, and
// at those that are reserved for; looks are made at the times that Ages tells, and at no others.
type queued struct {
	*rapid.T
	policy   Policy
	now      time.Time
	room     int
	waits    []Waiting        // in the order of ids
	behind   map[ID]string    // a lock; empty: the next pass looks
	reserved map[ID]bool      // by looks
	running  map[ID]time.Time // until when
	held     []Grant
	wanted   map[ID]Waiting // of all
	look     time.Time
}

// pass starts jobs, and fails the test where one overtakes another that has aged.
func (q *queued) pass(takes func() time.Duration) {
	p := Pass{Now: q.now, Held: q.held, Most: map[string]int{"t": q.room - len(q.running)}, Total: q.room - len(q.running)}
	for _, w := range q.waits {
		switch {
		case q.reserved[w.Job]:
			p.Reserved = append(p.Reserved, w)
		case q.behind[w.Job] == "":
			p.Waiting = append(p.Waiting, w)
		}
	}
	firsts, c := q.firsts(), q.policy.Choose(p)
	q.look = Earliest(q.look, q.policy.Ages(p, c))
	for _, s := range c.Start {
		q.overtakes(s.Job, firsts)
		q.waits = slices.DeleteFunc(q.waits, func(w Waiting) bool { return w.Job == s.Job })
		delete(q.reserved, s.Job)
		q.running[s.Job], q.held = q.now.Add(takes()), append(q.held, s.Grants...)
	}
	for _, s := range c.Wait {
		q.behind[s.Job] = s.Behind
	}
}

// firsts are the first jobs that wait behind each lock: looks see no others.
func (q *queued) firsts() (list []Waiting) {
	seen := map[string]bool{}
	for _, w := range q.waits {
		if behind := q.behind[w.Job]; !seen[behind] {
			seen[behind] = true
			list = append(list, w)
		}
	}
	return list
}

func (q *queued) overtakes(id ID, firsts []Waiting) {
	mine := q.set(q.wanted[id])
	for _, w := range firsts {
		conflict, _ := Conflicts(mine, q.set(w))
		if conflict && w.Job < id && q.policy.Constants.Aged(q.now.Sub(w.Since)) {
			q.Fatalf("at %v job %d %v overtakes job %d %v, which has waited for %v", q.now.Sub(epoch), id, q.wanted[id].Locks,
				w.Job, w.Locks, q.now.Sub(w.Since))
		}
	}
}

func (q *queued) set(w Waiting) Set {
	set, err := q.policy.read(w)
	if err != nil {
		q.Fatal(err)
	}
	return set
}

// looks reserves for those of the first that have aged, and tells when the next one does.
func (q *queued) looks() {
	q.look = time.Time{}
	for _, w := range q.firsts() {
		if q.policy.Constants.Aged(q.now.Sub(w.Since)) {
			q.reserved[w.Job] = true
		} else {
			q.look = Earliest(q.look, w.Since.Add(q.policy.Constants.Horizon()))
		}
	}
}

// ends ends what is over now; what waits behind its locks is looked at. It says whether any job has ended.
func (q *queued) ends() (some bool) {
	for id, until := range q.running {
		if until.After(q.now) {
			continue
		}
		some = true
		delete(q.running, id)
		for _, g := range q.held {
			for w, behind := range q.behind {
				if g.Job == id && behind == g.Level+":"+g.Name {
					q.behind[w] = ""
				}
			}
		}
		q.held = slices.DeleteFunc(q.held, func(g Grant) bool { return g.Job == id })
	}
	return some
}

// With looks at the times alone that Ages tells, no job that has aged is overtaken by a younger one in its way.
func TestAges_NoAgedJobIsOvertaken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := &queued{T: t, policy: fives(rapid.SampledFrom([]Order{Predictive, FIFO}).Draw(t, "order")), now: epoch,
			room: rapid.IntRange(1, 4).Draw(t, "room"), behind: map[ID]string{}, reserved: map[ID]bool{},
			running: map[ID]time.Time{}, wanted: map[ID]Waiting{}}
		some := func(most int, what string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * 100 * time.Millisecond
		}
		takes := func() time.Duration { return some(40, "takes") + time.Millisecond }
		next, coming := epoch.Add(some(4, "first")), rapid.IntRange(2, 60).Draw(t, "jobs")
		for id := ID(1); coming > 0 || len(q.running) > 0 || len(q.waits) > 0; {
			moment := q.look
			if coming > 0 {
				moment = Earliest(moment, next)
			}
			for _, until := range q.running {
				moment = Earliest(moment, until)
			}
			if moment.IsZero() {
				t.Fatalf("%d wait, and nothing is to happen", len(q.waits))
			}
			q.now = moment
			pass := q.ends()
			if !q.look.IsZero() && !q.look.After(q.now) {
				q.looks()
				pass = true
			}
			if coming > 0 && !next.After(q.now) {
				names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y"}), 1, 2, rapid.ID).Draw(t, "names")
				w := Waiting{Job: id, Type: "t", Since: q.now.Add(-some(3, "waited") * 20 * time.Duration(id%2))}
				for _, n := range names {
					w.Locks = append(w.Locks, fmt.Sprintf("a:%s=%s", n, rapid.SampledFrom([]Mode{Shared, Shared, Exclusive}).Draw(t, "mode")))
				}
				q.waits, q.wanted[id] = append(q.waits, w), w
				next, coming, pass, id = q.now.Add(some(4, "until the next")), coming-1, true, id+1
			}
			if pass {
				q.pass(takes)
			}
			if !q.look.IsZero() && !q.look.After(q.now) {
				q.looks()
				q.pass(takes)
			}
		}
	})
}
