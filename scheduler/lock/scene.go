package lock

import (
	"slices"
	"strings"
	"time"
)

// Seen is a job with locks as it stands in the queue.
type Seen struct {
	Job      ID
	Type     string
	Priority int
	Share    string   // empty: none
	Locks    []string // those that it needs, as far as the queue knows; of one that Holds, what it holds
	Behind   string   // the lock behind which it waits, as level:name; empty: none that is known
	Place    int      // in that queue, from 1 on; 0: so many are before it that they were not looked at
	Holds    bool
	Stands   bool      // of one that waits: no live instance serves its type, or that is paused
	Beside   bool      // it has no locks: it takes a slot, or will
	Since    time.Time // when it was submitted
	Started  time.Time // of one that Holds
}

// Scene is what is known of the jobs with locks at a moment.
type Scene struct {
	Policy Policy
	Slots  int
	Max    map[string]int // how many of a type may run at once; not there: any number
	Each   map[string]int // how many slots a job of a type takes; not there: one
	Shares Shares
	Jobs   []Seen
	Coming []Coming // those that are not ready yet, as far as a forecast looks at them
	Now    time.Time
}

// cast is a scene as the policy takes it.
type cast struct {
	pending []Job
	running []RunningJob
	holders []Set
	levels  Levels
}

func (s Scene) cast() cast {
	c := cast{levels: slices.Clone(s.Policy.Levels)}
	anyLevel := len(c.levels) == 0
	if anyLevel {
		c.levels = slices.Clone(GanetiLevels)
	}
	for _, seen := range s.Jobs {
		j, known := seen.job()
		if !known {
			continue
		}
		for _, v := range j.Locks.Levels {
			if anyLevel && !slices.Contains(c.levels, v.Level) {
				c.levels = append(c.levels, v.Level)
			}
		}
		switch {
		case seen.Holds:
			c.running = append(c.running, RunningJob{Job: j, Started: seen.Started})
			if !j.Locks.Empty() { // a job without locks is in no other's way (backlog.runs)
				c.holders = append(c.holders, j.Locks)
			}
		case seen.Place > 0 && !seen.Gated():
			c.pending = append(c.pending, j)
		}
	}
	return c
}

// job is what the policy knows of it; false: its locks cannot be read.
func (seen Seen) job() (Job, bool) {
	j := Job{ID: seen.Job, Type: seen.Type, Share: seen.Share, Priority: seen.Priority, Since: seen.Since}
	var err error
	j.Locks, err = ParseAll(seen.Locks, nil)
	return j, err == nil
}

// Gated says that a filter, a limit or a pause keeps the job waiting, that its type is not served, or that its locks
// cannot be read: there is no telling until when.
func (seen Seen) Gated() bool {
	if seen.Stands {
		return true
	}
	level, _, _ := strings.Cut(seen.Behind, ":")
	return level == limitLevel || level == filterLevel || level == pausedLevel || level == unreadableLevel
}

// Weigh is what a job of the scene weighs beside those that hold locks; false: it
// is not there, or its locks cannot be read.
func (s Scene) Weigh(id ID) (Weight, bool) {
	i := slices.IndexFunc(s.Jobs, func(seen Seen) bool { return seen.Job == id })
	if i < 0 {
		return Weight{}, false
	}
	j, known := s.Jobs[i].job()
	c := s.cast()
	return s.Policy.Constants.Weigh(j.Locks, c.holders, c.levels, s.Now.Sub(j.Since)), known
}

// Starts foretells when the waiting jobs will start. It leaves out jobs behind more jobs than were looked at, and
// jobs that a filter or a limit holds.
func (s Scene) Starts(of Durations) map[ID]Estimate {
	c := s.cast()
	p := s.Policy
	p.Levels = c.levels
	return Predict(c.pending, c.running, s.room(), p, s.Now, of)
}

func (s Scene) room() Room { return Room{Slots: s.Slots, Max: s.Max, Each: s.Each, Shares: s.Shares} }

// Play is when jobs run, those that run now and those that are to come too, if each takes as long as told of its type.
// It leaves out the jobs that Starts leaves out.
func (s Scene) Play(takes func(typ string) time.Duration) map[ID]Span {
	c := s.cast()
	p := s.Policy
	p.Levels = c.levels
	for _, j := range s.Coming {
		for _, v := range j.Locks.Levels {
			if !slices.Contains(p.Levels, v.Level) && len(s.Policy.Levels) == 0 {
				p.Levels = append(p.Levels, v.Level)
			}
		}
	}
	if s.Slots <= 0 {
		return nil
	}
	return play(c.pending, s.Coming, c.running, s.room(), p, s.Now, takes)
}

// Place is where a job stands among those that wait behind the same lock, by when they start: from 1 on;
// 0: so many are before it that they were not looked at.
func (s Scene) Place(id ID, starts map[ID]Estimate) int {
	i := slices.IndexFunc(s.Jobs, func(seen Seen) bool { return seen.Job == id })
	if i < 0 || s.Jobs[i].Place == 0 {
		return 0
	}
	mine, place := s.Jobs[i], 1
	for _, other := range s.Jobs {
		if other.Holds || other.Beside || other.Job == id || other.Behind != mine.Behind {
			continue
		}
		e, known := starts[other.Job]
		if !known {
			continue
		}
		if d := e.P50.Compare(starts[id].P50); d < 0 || d == 0 && other.Place < mine.Place {
			place++
		}
	}
	return place
}

// Unheard is the type of a job that keeps this one waiting, or its own, of which none has ended yet, so that
// nothing tells how long it takes; empty: there is none.
func (s Scene) Unheard(id ID, of Durations) string {
	i := slices.IndexFunc(s.Jobs, func(seen Seen) bool { return seen.Job == id })
	if i < 0 {
		return ""
	}
	mine, readable := s.Jobs[i].job()
	if !readable {
		return ""
	}
	for _, seen := range s.Jobs {
		if _, _, known := of(seen.Type); known || !seen.Holds || seen.Beside {
			continue
		}
		holder, readable := seen.job()
		if conflict, _ := Conflicts(mine.Locks, holder.Locks); readable && conflict {
			return seen.Type
		}
	}
	if _, _, known := of(mine.Type); !known {
		return mine.Type
	}
	return ""
}
