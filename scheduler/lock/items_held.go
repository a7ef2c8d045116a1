package lock

import "fmt"

// ItemsAsk is what a job asks for its items.
type ItemsAsk struct {
	Job  ID
	Own  Set   // what it holds besides them
	Keep Set   // what those need that run
	Want []Set // what others need, in their order; no two of them conflict
	Most int   // so many of those at most
	// InLine: what it waits for by an earlier request it goes on waiting for.
	InLine bool
}

// ItemsAnswer is what becomes of it.
type ItemsAnswer struct {
	Has   Set    // what its items hold from now on
	Got   []bool // of Want, up to where Most was reached: later ones were not looked at
	Waits Set    // what the first needs of those that cannot have theirs
	Why   string // and which job has it
	Cycle string // it will never have that: it waits for itself, along these jobs
	// Before is what others wait for. They come first once Has is not needed any more.
	Before []Set
	Grants []Grant
	Freed  []Grant // before Grants are written: also what is held in another mode from now on
}

// AnswerItems says what a job gets for its items: of each all that it needs, or
// nothing. What its running items have ends with them, so that it stands in a circle
// of waits only with what it keeps to its end. What others wait for is not to be had,
// unless they began to after this job.
func (p Policy) AnswerItems(ask ItemsAsk, held []Grant, waiting []Awaiting) ItemsAnswer {
	d := newDesk(p, held, waiting)
	var others usage
	for job, set := range d.held {
		if job != ask.Job {
			others.add(set, 1)
		}
	}
	since, waits := d.since[ask.Job]
	first := func(job ID) bool { return !d.items[job] || !waits || d.since[job].Before(since) }
	for job, set := range d.wants {
		if job != ask.Job && first(job) {
			others.add(set, 1)
		}
	}
	a := ItemsAnswer{Has: ask.Keep}
	for got, i := 0, 0; i < len(ask.Want) && got < ask.Most; i++ {
		want := ask.Want[i]
		free := ask.Own.Merge(ask.Keep).Covers(want) || !others.clashes(want)
		if free {
			a.Has = a.Has.Merge(want)
			got++
		} else if a.Why == "" {
			a.Waits, a.Why = want, d.whose(ask.Job, want, first)
		}
		a.Got = append(a.Got, free)
	}
	if a.Why != "" {
		d.wants[ask.Job], d.items[ask.Job], d.own[ask.Job] = a.Waits, true, ask.Own
		if a.Cycle = d.cycleOf(ask.Job); a.Cycle != "" {
			a.Waits = Set{}
		}
	}
	for job, set := range d.wants {
		if is, _ := Conflicts(set, a.Has); is && job != ask.Job {
			a.Before = append(a.Before, set)
		}
	}
	a.Grants, a.Freed = changes(ask.Job, d.held[ask.Job], ask.Own.Merge(a.Has))
	return a
}

// whose names the job that holds, or asked earlier for, a lock in conflict with a set.
func (d *desk) whose(job ID, set Set, first func(ID) bool) string {
	if by, why, is := d.against(job, set, false); is {
		return fmt.Sprintf("%s, and job %d has %s", why.Wants.Text(), by, why.Holds.Text())
	}
	for _, id := range d.queue {
		if is, why := Conflicts(set, d.wants[id]); is && id != job && first(id) {
			return fmt.Sprintf("%s, and job %d has asked for %s before", why.Wants.Text(), id, why.Holds.Text())
		}
	}
	return ""
}

// changes are the grants that make what a job holds into another set.
func changes(job ID, has, shall Set) (grant, free []Grant) {
	type place struct{ level, name string }
	was, will := map[place]string{}, map[place]bool{}
	before, after := grants(Job{ID: job, Locks: has}, nil), grants(Job{ID: job, Locks: shall}, nil)
	for _, g := range before {
		was[place{g.Level, g.Name}] = g.Mode
	}
	for _, g := range after {
		at := place{g.Level, g.Name}
		will[at] = was[at] == g.Mode
		if !will[at] {
			grant = append(grant, g)
		}
	}
	for _, g := range before {
		if !will[place{g.Level, g.Name}] {
			free = append(free, g)
		}
	}
	return grant, free
}

// Covers reports that a set has all that another names, in the same mode or a
// stronger one.
func (s Set) Covers(o Set) bool {
	if o.Big && !s.Big {
		return false
	}
	for _, v := range o.Levels {
		mine := s.At(v.Level)
		if mine.All < v.All || mine.Unknown < v.Unknown {
			return false
		}
		names := mine.Names
		for _, n := range v.Names {
			for len(names) > 0 && names[0].Name < n.Name {
				names = names[1:]
			}
			if len(names) == 0 || names[0].Name != n.Name || names[0].Mode < n.Mode {
				return false
			}
		}
	}
	return true
}

// Read reads locks as they are written.
func (p Policy) Read(texts []string) (Set, error) { return p.read(Waiting{Locks: texts}) }

// HeldBy is what a job holds.
func HeldBy(job ID, held []Grant) (set Set) {
	for _, j := range running(held, nil) {
		if j.ID == job {
			set = j.Locks
		}
	}
	return set
}

// Rows are a set as it stands in the database.
func Rows(job ID, set Set) []Grant { return grants(Job{ID: job, Locks: set}, nil) }
