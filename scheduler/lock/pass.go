package lock

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Grant is a lock that a job holds, as it stands in the database.
type Grant struct {
	Job   ID
	Level string
	Name  string        // as it is written: *, ? or a name
	Mode  string        // exclusive, shared, or slot: a place within a limit
	For   time.Duration // of a slot: how long the start counts, whatever becomes of the job; 0: while it runs
}

// Slot is the mode of a place within a limit.
const Slot = "slot"

// Levels of bellhop's own: of limits that reasons name, and of locks that cannot be read.
const (
	limitLevel      = "rate-limit"
	unreadableLevel = "unreadable"
)

// Waiting is a job that a pass looks at.
type Waiting struct {
	Job      ID
	Type     string
	Priority int
	Since    time.Time
	Locks    []string
	Reasons  []string
	// Unreadable is why what its agent says of its locks cannot be read; nil: it can.
	Unreadable error
}

// Pass is what is known in a pass: who holds what, who waits, and for how many
// jobs of each type there is room.
type Pass struct {
	Now      time.Time
	Held     []Grant
	Reserved []Waiting // that wait behind a lock, and have done so for so long that they may be reserved for
	Waiting  []Waiting // in any order
	Most     map[string]int
	Total    int
}

// Choice is what comes of a pass. Jobs in neither list wait for room alone.
type Choice struct {
	Start []Start // in this order
	Wait  []Stay
}

// Start is a job that starts, and what it holds from then on.
type Start struct {
	Job    ID
	Grants []Grant
}

// Stay is a job that does not start although there may be room.
type Stay struct {
	Job    ID
	Behind string // the lock that it waits for, as level:name
	Why    string // a code of explain, and what there is to say
}

// Choose says which jobs start, and of the others why not: Select, on what
// stands in the database.
func (p Policy) Choose(pass Pass) Choice {
	var c Choice
	in := Input{Running: running(pass.Held), Free: pass.Total, ByType: map[string]int{}, Policy: p, Now: pass.Now}
	for typ, n := range pass.Most {
		in.ByType[typ] = n
	}
	levels := slices.Clone(GanetiLevels)
	read := func(w Waiting, typ string) {
		set, err := p.read(w)
		if err != nil {
			c.Wait = append(c.Wait, Stay{w.Job, unreadableLevel + ":*", "locks_malformed: " + err.Error()})
			return
		}
		for _, v := range set.Levels {
			if !slices.Contains(levels, v.Level) {
				levels = append(levels, v.Level)
			}
		}
		in.Pending = append(in.Pending, Job{
			ID: w.Job, Type: typ, Locks: set, Priority: w.Priority, Since: w.Since, Reasons: w.Reasons,
		})
	}
	for _, w := range pass.Waiting {
		read(w, w.Type)
	}
	for _, w := range pass.Reserved {
		if !slices.ContainsFunc(pass.Waiting, func(o Waiting) bool { return o.Job == w.Job }) {
			read(w, parked) // its own turn comes when what it waits behind is free
		}
	}
	if len(p.Levels) == 0 { // any may be, and all that there are count
		slices.Sort(levels)
		in.Policy.Levels = levels
	}
	d := Select(in)
	jobs := map[ID]Job{}
	for _, j := range in.Pending {
		jobs[j.ID] = j
	}
	for _, pick := range d.Picks {
		c.Start = append(c.Start, Start{pick.ID, grants(jobs[pick.ID])})
	}
	for _, j := range in.Pending {
		why, waits := d.Waits[j.ID]
		if behind := behind(why); waits && behind != "" && j.Type != parked {
			c.Wait = append(c.Wait, Stay{j.ID, behind, string(why.Code) + ": " + why.String()})
		}
	}
	return c
}

// parked is no job's type: there is never room for it.
const parked = ""

// read reads a job's locks.
func (p Policy) read(w Waiting) (Set, error) {
	set, err := ParseAll(w.Locks, p.Levels)
	if err = errors.Join(w.Unreadable, err); err != nil {
		return Set{}, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	for _, own := range []string{limitLevel, unreadableLevel} {
		if set.At(own).Kind() != KindNone {
			return Set{}, errors.New("level " + own + " is bellhop's own; name it otherwise")
		}
	}
	return set, nil
}

// running is what holds locks, job by job.
func running(held []Grant) []Job {
	var list []Job
	at := map[ID]int{}
	wants := map[ID][]Want{}
	for _, g := range held {
		i, there := at[g.Job]
		if !there {
			i = len(list)
			at[g.Job], list = i, append(list, Job{ID: g.Job})
		}
		text := g.Level + ":" + g.Name + "=" + g.Mode
		switch {
		case g.Mode == Slot:
			list[i].Reasons = append(list[i].Reasons, g.Level+":"+g.Name)
			continue
		case g.Level == Big:
			text = Big
		}
		if w, err := Parse(text); err == nil { // what cannot be read was not granted by a pass
			wants[g.Job] = append(wants[g.Job], w)
		}
	}
	for i := range list {
		list[i].Locks = NewSet(wants[list[i].ID]...)
	}
	return list
}

// grants is what a job holds when it starts.
func grants(j Job) []Grant {
	var list []Grant
	for _, w := range j.Locks.Wants() {
		g := Grant{Job: j.ID, Level: w.Level, Name: w.NameText(), Mode: w.Mode.String()}
		if w.Big {
			g.Level, g.Mode = Big, Exclusive.String()
		}
		list = append(list, g)
	}
	for _, b := range Buckets(j.Reasons) {
		name := strings.TrimPrefix(b.String(), limitLevel+":")
		list = append(list, Grant{Job: j.ID, Level: limitLevel, Name: name, Mode: Slot})
	}
	return list
}

// behind is which lock a job waits for; empty: none.
func behind(why Reason) string {
	switch why.Code {
	case LockHeld, LockReserved:
		w := why.Conflict.Holds
		if w.Big {
			return Big + ":" + Big
		}
		return w.Level + ":" + w.NameText()
	case RateLimited:
		return why.Bucket.String()
	}
	return ""
}

// AnyLevel is the policy of a queue for which nothing is configured: locks may
// be of any level.
var AnyLevel = Policy{Order: Predictive, Constants: GanetiConstants}
