package lock

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Ask is what a job that runs asks of locks.
type Ask struct {
	Job    ID
	Locks  []string
	Any    int      // so many of Locks as are free now; 0: all, and it waits for them
	Unlock []string // give these back; then Locks is empty
}

// Awaiting is a lock that a running job has asked for, and waits for.
type Awaiting struct {
	Grant
	Since time.Time
	// Items: for one of its items, while those of its items that run end: it stands in no other job's way.
	Items bool
	// Own, of a job that waits so: no lock that it waits for, but the text of one that it keeps until it ends.
	Own string
}

// Answer is what becomes of an Ask. If only the job is set, the job waits, and Why names the job that it waits for.
type Answer struct {
	Job     ID
	Grants  []Grant // what the job holds from now on, besides what it held
	Granted []string
	Freed   []Grant
	Waits   []Grant // what it waits for
	Why     string
	Refused string
	TooFew  string // fewer are free than it asked for
	Cycle   string // it waits for itself, along these jobs
}

// Done says that it needs to wait no longer.
func (a Answer) Done() bool { return len(a.Waits) == 0 }

// Answer says what becomes of what running jobs ask, one after the other, while held is held and waiting are the
// requests that wait, including those of the asking jobs.
//
// A job gets at once what it holds already, and shared becomes exclusive when no other job holds it. A job that
// holds nothing lets earlier requests go first. A job that holds something does not: they may wait for it.
func (p Policy) Answer(asks []Ask, held []Grant, waiting []Awaiting) []Answer {
	d := newDesk(p, held, waiting)
	answers := make([]Answer, 0, len(asks))
	for _, ask := range asks {
		answers = append(answers, d.answer(ask))
	}
	for i := range answers {
		a := &answers[i]
		if len(a.Waits) == 0 {
			continue
		}
		if cycle := d.cycleOf(a.Job); cycle != "" {
			a.Waits, a.Why, a.Cycle = nil, "", cycle
			d.forget(a.Job)
		}
	}
	return answers
}

// desk is which jobs hold and which wait for what, while requests are answered.
type desk struct {
	policy Policy
	held   map[ID]Set
	wants  map[ID]Set
	since  map[ID]time.Time
	items  map[ID]bool // jobs that wait for one of their items
	own    map[ID]Set  // and what such a job keeps until it ends
	queue  []ID        // the waiting jobs, the first first
}

func newDesk(p Policy, held []Grant, waiting []Awaiting) *desk {
	d := &desk{policy: p, held: map[ID]Set{}, wants: map[ID]Set{}, since: map[ID]time.Time{},
		items: map[ID]bool{}, own: map[ID]Set{}}
	for _, j := range running(held, nil) {
		d.held[j.ID] = j.Locks
	}
	wanted := make([]Grant, 0, len(waiting))
	for _, w := range waiting {
		if w.Own != "" {
			set, _ := p.Read([]string{w.Own}) // what cannot be read it does not hold
			d.own[w.Job] = d.own[w.Job].Merge(set)
			continue
		}
		wanted = append(wanted, w.Grant)
		d.items[w.Job] = w.Items
		if at, there := d.since[w.Job]; !there || w.Since.Before(at) {
			d.since[w.Job] = w.Since
		}
	}
	for _, j := range running(wanted, nil) {
		d.wants[j.ID] = j.Locks
		d.queue = append(d.queue, j.ID)
	}
	slices.SortFunc(d.queue, func(a, b ID) int {
		if c := d.since[a].Compare(d.since[b]); c != 0 {
			return c
		}
		return int(a - b)
	})
	return d
}

func (d *desk) forget(job ID) {
	delete(d.wants, job)
	d.queue = slices.DeleteFunc(d.queue, func(id ID) bool { return id == job })
}

// answer is of one request.
func (d *desk) answer(ask Ask) Answer {
	if len(ask.Unlock) > 0 {
		return d.unlock(ask)
	}
	set, err := d.policy.read(Waiting{Locks: ask.Locks})
	switch {
	case err != nil:
		return Answer{Job: ask.Job, Refused: err.Error()}
	case slices.ContainsFunc(set.Wants(), func(w Want) bool { return w.Scope == Unknown }):
		return Answer{Job: ask.Job, Refused: "? names no lock: a job that runs has to say which one it wants, " +
			"such as db:orders=exclusive"}
	case ask.Any > 0:
		return d.some(ask)
	}
	if by, why, is := d.against(ask.Job, set, false); is {
		return d.wait(ask.Job, set, fmt.Sprintf("%s, and job %d has %s", why.Wants.Text(), by, why.Holds.Text()))
	}
	if by, why, is := d.before(ask.Job, set); is {
		wants, other := why.Wants.Text(), why.Holds.Text()
		return d.wait(ask.Job, set, fmt.Sprintf("%s, and job %d has asked for %s before", wants, by, other))
	}
	return d.grant(ask.Job, set)
}

func (d *desk) wait(job ID, set Set, why string) Answer {
	if _, there := d.wants[job]; !there {
		d.queue = append(d.queue, job)
	}
	d.wants[job] = set
	return Answer{Job: job, Waits: grants(Job{ID: job, Locks: set}, nil), Why: why}
}

func (d *desk) grant(job ID, set Set) Answer {
	d.forget(job)
	d.held[job] = d.held[job].Merge(set)
	a := Answer{Job: job, Grants: grants(Job{ID: job, Locks: set}, nil)}
	for _, w := range set.Wants() {
		a.Granted = append(a.Granted, w.Text())
	}
	return a
}

// some takes the first that are free, and does not wait.
func (d *desk) some(ask Ask) Answer {
	if ask.Any > len(ask.Locks) {
		why := fmt.Sprintf("any is %d, and of names %d; name more, or ask for fewer", ask.Any, len(ask.Locks))
		return Answer{Job: ask.Job, Refused: why}
	}
	var free Set
	n := 0
	for _, text := range ask.Locks {
		set, err := d.policy.read(Waiting{Locks: []string{text}})
		if err != nil || n == ask.Any {
			continue
		}
		if _, _, taken := d.against(ask.Job, set, true); taken || !differs(free, set) {
			continue
		}
		free = free.Merge(set)
		n++
	}
	if n < ask.Any {
		of := strings.Join(ask.Locks, ", ")
		return Answer{Job: ask.Job, TooFew: fmt.Sprintf("%d of %s are wanted, and %d free", ask.Any, of, n)}
	}
	return d.grant(ask.Job, free)
}

// differs says that a set has something that another has not.
func differs(has, set Set) bool { return has.Merge(set).key() != has.key() }

// against is a job that holds a lock in conflict with a set; with wanted, also one that waits for such a lock.
func (d *desk) against(job ID, set Set, wanted bool) (ID, Conflict, bool) {
	var first ID
	var why Conflict
	found := false
	look := func(of map[ID]Set) {
		for id, other := range of {
			if id == job || found && id >= first {
				continue
			}
			if is, c := Conflicts(set, other); is {
				first, why, found = id, c, true
			}
		}
	}
	look(d.held)
	if !found && wanted {
		look(d.wants)
	}
	return first, why, found
}

// before is a job that asked earlier for a lock in conflict with a set, if the asking job holds nothing that the
// earlier one could wait for.
func (d *desk) before(job ID, set Set) (ID, Conflict, bool) {
	if !d.held[job].Empty() {
		return 0, Conflict{}, false
	}
	for _, id := range d.queue {
		if id == job {
			break
		}
		if is, why := Conflicts(set, d.wants[id]); is && !d.items[id] {
			return id, why, true
		}
	}
	return 0, Conflict{}, false
}

// unlock gives back what a job holds. All of it is refused if one of it is not held.
func (d *desk) unlock(ask Ask) Answer {
	a := Answer{Job: ask.Job}
	have := grants(Job{ID: ask.Job, Locks: d.held[ask.Job]}, nil)
	for _, text := range ask.Unlock {
		i := slices.IndexFunc(have, func(g Grant) bool {
			name := g.Level + ":" + g.Name
			return text == name || text == name+"="+g.Mode || g.Level == Big && text == Big
		})
		if i < 0 {
			return Answer{Job: ask.Job, Refused: "it does not hold " + text +
				"; write the level and the name of a lock that it holds, such as db:orders"}
		}
		a.Freed = append(a.Freed, have[i])
	}
	var left []Want
	for _, w := range d.held[ask.Job].Wants() {
		g := grants(Job{ID: ask.Job, Locks: NewSet(w)}, nil)[0]
		if !slices.Contains(a.Freed, g) {
			left = append(left, w)
		}
	}
	d.held[ask.Job] = NewSet(left...)
	return a
}

// keeps is what a job holds for as long as it waits: what its items have, that run,
// ends with them.
func (d *desk) keeps(job ID) Set {
	if d.items[job] {
		return d.own[job]
	}
	return d.held[job]
}

// cycleOf describes the circle of jobs that wait for each other and of which a job is the youngest; empty: there is
// none. For each waiting job, the holders of what it wants count.
func (d *desk) cycleOf(job ID) string {
	waits := map[ID][]ID{}
	for id, wants := range d.wants {
		for other := range d.held {
			if other != id {
				if is, _ := Conflicts(wants, d.keeps(other)); is {
					waits[id] = append(waits[id], other)
				}
			}
		}
	}
	// Others' circles are others' to break: they are looked past, one after the other.
	for {
		cycle := Cycle(waits)
		if cycle == nil {
			return ""
		}
		if cycle[0] != job {
			delete(waits, cycle[0])
			continue
		}
		var text []string
		for i, id := range cycle {
			next := cycle[(i+1)%len(cycle)]
			_, why := Conflicts(d.wants[id], d.keeps(next))
			wants, holds := why.Wants.Text(), why.Holds.Text()
			text = append(text, fmt.Sprintf("job %d waits for %s, and job %d has %s", id, wants, next, holds))
		}
		return strings.Join(text, "; ")
	}
}
