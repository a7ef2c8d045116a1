package lock

import (
	"errors"
	"maps"
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
	Since time.Time     // of one that stands there
	Past  bool          // it counts as a start alone, and the job may be over
}

// Modes besides a lock's own.
const (
	Slot = "slot" // a place within a limit
	Turn = "turn" // nothing is held: the job that waited behind the lock is looked at, since it is free
)

// Levels of bellhop's own: of limits that reasons name, of locks that cannot be read, and of filters that limit and
// that pause. No job holds anything of the last.
const (
	limitLevel      = "rate-limit"
	unreadableLevel = "unreadable"
	filterLevel     = "filter"
	pausedLevel     = "paused"
)

// Waiting is a job that a pass looks at.
type Waiting struct {
	Job      ID
	Type     string
	Agent    string // whose room it takes: its type's, or RJM's workers'; empty: not known
	Priority int
	Since    time.Time
	Locks    []string
	Reasons  []string
	// Elsewhere: it is reserved for, and where the pass is made it may not start.
	Elsewhere bool
	// What only filters ask for.
	Args, Key, RunOn, SubmittedBy, Share string
	Vars                                 map[string]string
	// Turn is its place among jobs of its type and priority whose keys take turns; 0: it has none, and comes after them.
	Turn int
	// Unreadable is why what its agent says of its locks cannot be read; nil: it can.
	Unreadable error
}

// Pass is what is known in a pass: holders, waiting jobs, and for how many jobs of each type there is room.
type Pass struct {
	Now  time.Time
	Held []Grant
	// Reserved have waited so long that they may get a reservation, wherever they stand.
	Reserved []Waiting
	Waiting  []Waiting // in any order
	Rules    []Rule    // filters
	Running  []Waiting // all that runs, with locks or without, where filters limit that
	Most     map[string]int
	Total    int
}

// Choice is what comes of a pass. Jobs in neither list wait for room alone.
type Choice struct {
	Start  []Start // in this order
	Wait   []Stay
	Reject []Rejected
	// Parked are those of Reserved that no lock keeps waiting, but a filter, a limit or what cannot be
	// read: nothing is kept for them any more, and they wait as others do.
	Parked []ID
}

// Rejected is a job that a filter rejects: it is to be cancelled.
type Rejected struct {
	Job  ID
	Rule RuleID
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
	For    ID     // the job for which that is kept free; 0: another job holds it
	Why    string // a code of explain, and what there is to say
}

// Choose says which jobs start, and of the others why not: Select, on what
// stands in the database.
func (p Policy) Choose(pass Pass) Choice {
	var c Choice
	in := Input{Running: running(pass.Held, pass.Running), Free: pass.Total, ByType: map[string]int{}, Policy: p,
		Now: pass.Now, Rules: Sorted(pass.Rules), Starts: begun(pass.Held)}
	for typ, n := range pass.Most {
		in.ByType[typ] = n
	}
	levels := slices.Clone(GanetiLevels)
	read := func(w Waiting, reserved bool) {
		set, err := p.read(w)
		if err != nil {
			c.Wait = append(c.Wait, Stay{Job: w.Job, Behind: unreadableLevel + ":" + unreadableAt(err),
				Why: "locks_malformed: " + strings.ReplaceAll(err.Error(), "\n", "; ")})
			if reserved {
				c.Parked = append(c.Parked, w.Job)
			}
			return
		}
		for _, v := range set.Levels {
			if !slices.Contains(levels, v.Level) {
				levels = append(levels, v.Level)
			}
		}
		j := w.subject()
		j.Locks = set
		in.Pending = append(in.Pending, j)
	}
	for _, w := range pass.Waiting {
		read(w, false)
	}
	looked := map[ID]bool{}
	for _, w := range pass.Waiting {
		looked[w.Job] = true
	}
	// A job may stand before them where they wait and yet be after them in the order.
	for _, w := range pass.Reserved {
		if !looked[w.Job] {
			read(w, true)
		}
	}
	back := lift(in.Pending, holders(pass.Held))
	if len(p.Levels) == 0 { // any may be, and all that there are count
		slices.Sort(levels)
		in.Policy.Levels = levels
	}
	d := Select(in)
	jobs := map[ID]Job{}
	for _, j := range in.Pending {
		jobs[j.ID] = j
	}
	maps.Copy(jobs, back)
	for _, pick := range d.Picks {
		c.Start = append(c.Start, Start{pick.ID, grants(jobs[pick.ID], in.Rules)})
	}
	c.leave(in.Pending, d.Waits, looked)
	return c
}

// lift takes the locks off those jobs that hold theirs already, and gives them as they were. Such a job runs on an
// engine, and has lost its watcher: nothing of it is in its way.
func lift(pending []Job, held map[ID]bool) map[ID]Job {
	were := map[ID]Job{}
	for i, j := range pending {
		if held[j.ID] {
			were[j.ID] = j
			pending[i].Locks, pending[i].Reasons = Set{}, nil
		}
	}
	return were
}

// leave adds the reasons of the jobs that do not start. looked are the jobs of Pass.Waiting.
func (c *Choice) leave(pending []Job, waits map[ID]Reason, looked map[ID]bool) {
	for _, j := range pending {
		why, waits := waits[j.ID]
		if why.Code == FilterRejected {
			c.Reject = append(c.Reject, Rejected{j.ID, why.Rule})
		}
		parked := !looked[j.ID] && (why.Code == FilterPaused || why.Code == RateLimited)
		if parked {
			c.Parked = append(c.Parked, j.ID)
		}
		if behind := behind(why); waits && behind != "" && (looked[j.ID] || parked) {
			stay := Stay{Job: j.ID, Behind: behind, Why: string(why.Code) + ": " + why.String()}
			if why.Code == LockReserved {
				stay.For = why.By
			}
			c.Wait = append(c.Wait, stay)
		}
	}
}

// holders are the jobs that hold something while they live.
func holders(held []Grant) map[ID]bool {
	list := map[ID]bool{}
	for _, g := range held {
		if g.Mode != Turn && !g.Past && g.Level != filterLevel {
			list[g.Job] = true
		}
	}
	return list
}

// Again is when the first of the limits per time that are used up lets another
// job start; zero: none is used up.
func (c Choice) Again(pass Pass) (at time.Time) {
	starts := begun(pass.Held)
	for _, s := range c.Start {
		for _, g := range s.Grants {
			if g.For > 0 {
				starts[RuleID(g.Name)] = append(starts[RuleID(g.Name)], pass.Now)
			}
		}
	}
	limits := map[RuleID]Action{}
	for _, r := range pass.Rules {
		limits[r.ID] = r.Action
	}
	for place, begun := range starts {
		id, _, _ := strings.Cut(string(place), " ")
		a := limits[RuleID(id)]
		if a.Kind != RateLimit || a.Per == 0 {
			continue
		}
		until := Wait(begun, a.Limit, a.Per)
		if until.After(pass.Now) && (at.IsZero() || until.Before(at)) {
			at = until
		}
	}
	return at
}

// read reads a job's locks.
func (p Policy) read(w Waiting) (Set, error) {
	set, err := ParseAll(w.Locks, p.Levels)
	if err = errors.Join(w.Unreadable, err); err != nil {
		return Set{}, err
	}
	for _, own := range []string{limitLevel, unreadableLevel, filterLevel, pausedLevel} {
		if set.At(own).Kind() != KindNone {
			return Set{}, errors.New("level " + own + " is bellhop's own; name it otherwise")
		}
	}
	return set, nil
}

// unreadableAt is the level of the first lock that cannot be read. Jobs wait by it,
// so that those of one level do not keep back those of another, which may be
// readable by now.
func unreadableAt(err error) string {
	var bad *TextError
	if !errors.As(err, &bad) {
		return "*"
	}
	level, _, _ := strings.Cut(bad.Text, ":")
	if _, why := badLevel(level); why != "" { // it may be anything, and of any length
		return "*"
	}
	return level
}

// subject is the job as filters see it, but for its locks.
func (w Waiting) subject() Job {
	return Job{
		ID:          w.Job,
		Type:        w.Type,
		Agent:       w.Agent,
		Elsewhere:   w.Elsewhere,
		Priority:    w.Priority,
		Since:       w.Since,
		Reasons:     w.Reasons,
		Submitted:   w.Since,
		Args:        w.Args,
		Key:         w.Key,
		RunOn:       w.RunOn,
		SubmittedBy: w.SubmittedBy,
		Vars:        w.Vars,
		Share:       w.Share,
		Turn:        w.Turn,
	}
}

// Subject is the job as filters see it; locks that cannot be read are none.
func (p Policy) Subject(w Waiting) Job {
	j := w.subject()
	j.Locks, _ = p.read(w)
	return j
}

// begun are those that count for limits per time.
func begun(held []Grant) map[RuleID][]time.Time {
	list := map[RuleID][]time.Time{}
	for _, g := range held {
		if g.Level == filterLevel && g.Past {
			list[RuleID(g.Name)] = append(list[RuleID(g.Name)], g.Since)
		}
	}
	return list
}

// running is what runs, with what it holds: the holders of locks, and all others that filters count.
func running(held []Grant, others []Waiting) []Job {
	var list []Job
	at := map[ID]int{}
	wants := map[ID][]Want{}
	for _, w := range others {
		at[w.Job], list = len(list), append(list, w.subject())
	}
	for _, g := range held {
		if g.Level == filterLevel { // the current rules decide which jobs count for a limit
			continue
		}
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
func grants(j Job, rules []Rule) []Grant {
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
	if r := Applying(rules, j); r != nil && r.Action.Kind == RateLimit {
		list = append(list, Grant{Job: j.ID, Level: filterLevel, Name: string(r.Place(j)), Mode: Slot, For: r.Action.Per})
	}
	return list
}

// behind is which lock a job waits for; empty: none.
func behind(why Reason) string {
	switch why.Code {
	case LockHeld, LockReserved: // the job with the reservation will hold that
		w := why.Conflict.Holds
		if w.Big {
			return Big + ":" + Big
		}
		return w.Level + ":" + w.NameText()
	case FilterPaused:
		return pausedLevel + ":" + string(why.Rule)
	case RateLimited:
		if why.Rule != "" {
			return filterLevel + ":" + string(why.Place)
		}
		return why.Bucket.String()
	}
	return ""
}

// AnyLevel is the policy of a queue for which nothing is configured: locks may
// be of any level.
var AnyLevel = Policy{Order: Predictive, Constants: GanetiConstants}
