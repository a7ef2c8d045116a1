package lock

import (
	"math"
	"slices"
)

// ID is a job.
type ID int64

// ids are jobs, the lowest first.
type ids []ID

func (s *ids) add(id ID) {
	if n := len(*s); n == 0 || (*s)[n-1] < id { // most come in order
		*s = append(*s, id)
		return
	}
	if i, there := slices.BinarySearch(*s, id); !there {
		*s = slices.Insert(*s, i, id)
	}
}

func (s *ids) remove(id ID) {
	if len(*s) > 0 && (*s)[0] == id { // most go in order
		*s = (*s)[1:]
		return
	}
	if i, there := slices.BinarySearch(*s, id); there {
		*s = slices.Delete(*s, i, i+1)
	}
}

// modes are the jobs that have a lock, by mode.
type modes struct{ shared, exclusive ids }

func (m *modes) of(mode Mode) *ids {
	if mode == Exclusive {
		return &m.exclusive
	}
	return &m.shared
}

// against is the lowest job, of those below an id, that does not let mode be had.
func (m *modes) against(mode Mode, below ID) (ID, bool) {
	if m == nil {
		return 0, false
	}
	first, found := below, false
	if len(m.exclusive) > 0 && m.exclusive[0] < first {
		first, found = m.exclusive[0], true
	}
	if mode == Exclusive && len(m.shared) > 0 && m.shared[0] < first {
		first, found = m.shared[0], true
	}
	return first, found
}

// heldLevel is which jobs hold what at one level.
type heldLevel struct {
	names map[string]*modes
	named modes      // jobs that hold any name
	count [kinds]int // jobs whose value is made of that kind, among others
	all   modes
	jobs  int // that want anything at this level
}

// Index is jobs and their locks, kept so that what a job wants is compared with
// thousands of them in time that grows with its own names alone. Make it with NewIndex.
type Index struct {
	sets   map[ID]Set
	levels map[string]*heldLevel
	big    ids
	locked ids // jobs that hold any lock
}

// NewIndex is an index without jobs.
func NewIndex() *Index { return &Index{sets: map[ID]Set{}, levels: map[string]*heldLevel{}} }

// Len is how many jobs there are, those without locks among them.
func (x *Index) Len() int { return len(x.sets) }

// Add puts a job in; what it had before is merged with it.
func (x *Index) Add(id ID, s Set) {
	if old, there := x.sets[id]; there {
		x.Remove(id)
		s = old.Merge(s)
	}
	x.sets[id] = s
	if s.Big {
		x.big.add(id)
	}
	if !s.Empty() {
		x.locked.add(id)
	}
	for _, v := range s.Levels {
		l := x.levels[v.Level]
		if l == nil {
			l = &heldLevel{names: map[string]*modes{}}
			x.levels[v.Level] = l
		}
		l.add(id, v.Value)
	}
}

// Remove takes a job out, with all it had.
func (x *Index) Remove(id ID) {
	s, there := x.sets[id]
	if !there {
		return
	}
	delete(x.sets, id)
	x.big.remove(id)
	x.locked.remove(id)
	for _, v := range s.Levels {
		l := x.levels[v.Level]
		if l.remove(id, v.Value); l.jobs == 0 {
			delete(x.levels, v.Level)
		}
	}
}

func (l *heldLevel) add(id ID, v Value) {
	l.jobs++
	l.tell(v, 1)
	if v.All != 0 {
		l.all.of(v.All).add(id)
	}
	for _, n := range v.Names {
		m := l.names[n.Name]
		if m == nil {
			m = &modes{}
			l.names[n.Name] = m
		}
		m.of(n.Mode).add(id)
		l.named.of(n.Mode).add(id)
	}
}

func (l *heldLevel) remove(id ID, v Value) {
	l.jobs--
	l.tell(v, -1)
	if v.All != 0 {
		l.all.of(v.All).remove(id)
	}
	for _, n := range v.Names {
		m := l.names[n.Name]
		m.of(n.Mode).remove(id)
		if len(m.shared)+len(m.exclusive) == 0 {
			delete(l.names, n.Name)
		}
		l.named.of(n.Mode).remove(id)
	}
}

func (l *heldLevel) tell(v Value, by int) {
	set := v.kinds()
	for k := range Kind(kinds) {
		if set&(1<<k) != 0 {
			l.count[k] += by
		}
	}
}

// Blocker is a job of the index that a job with these locks may not run beside,
// and why; false: there is none. Of all that stand against the first of its locks
// that cannot be had it is the one with the lowest id.
func (x *Index) Blocker(s Set) (ID, Conflict, bool) { return x.blocker(s, math.MaxInt64) }

// blocker is Blocker among the jobs below an id.
func (x *Index) blocker(s Set, below ID) (ID, Conflict, bool) {
	if s.Empty() {
		return 0, Conflict{}, false
	}
	if len(x.big) > 0 && x.big[0] < below {
		return x.big[0], Conflict{one(s, true), Want{Big: true}}, true
	}
	if s.Big {
		if len(x.locked) == 0 || x.locked[0] >= below {
			return 0, Conflict{}, false
		}
		id := x.locked[0]
		return id, Conflict{Want{Big: true}, one(x.sets[id], true)}, true
	}
	for _, v := range s.Levels {
		if l := x.levels[v.Level]; l != nil {
			if id, is := l.blocker(v.Value, below); is {
				_, c := v.clashes(LevelValue{v.Level, x.sets[id].At(v.Level)})
				return id, c, true
			}
		}
	}
	return 0, Conflict{}, false
}

func (l *heldLevel) blocker(v Value, below ID) (ID, bool) {
	if v.All != 0 {
		if id, is := l.all.against(v.All, below); is {
			return id, true
		}
		if id, is := l.named.against(v.All, below); is {
			return id, true
		}
	}
	for _, n := range v.Names {
		if id, is := l.all.against(n.Mode, below); is {
			return id, true
		}
		if id, is := l.names[n.Name].against(n.Mode, below); is {
			return id, true
		}
	}
	return 0, false
}

// Static is the static value of a pending job beside the jobs of the index: what
// Constants.Static gives for them, without looking at each.
func (x *Index) Static(c Constants, pending Set, levels Levels) float64 {
	if pending.Big {
		return c.BigWeight(levels)
	}
	spv := c.Base
	for _, v := range pending.Levels {
		if slices.Contains(levels, v.Level) {
			spv += x.contention(c, v, true)
		}
	}
	return spv
}

// contention is what a level adds. Without names, no name meets another: so it is
// of every job that nothing known forbids to start.
func (x *Index) contention(c Constants, v LevelValue, names bool) float64 {
	l, most, set := x.levels[v.Level], 0.0, v.kinds()
	var none heldLevel
	if l == nil {
		l = &none
	}
	count := l.count
	count[KindAllExclusive] += len(x.big)
	count[KindNone] = len(x.sets) - l.jobs
	for row := range Kind(kinds) {
		for column := range Kind(kinds) {
			if set&(1<<row) == 0 || count[column] == 0 {
				continue
			}
			entry := table[row][column]
			meet := false
			if names && (entry == sureOrLess || entry == sureOrHeavy) {
				meet = l.meets(v.Names, row, column)
			}
			most = max(most, c.of(entry, meet))
		}
	}
	return most
}

// meets reports whether one of the names wanted in a row's mode is had in a column's.
func (l *heldLevel) meets(names []NameMode, row, column Kind) bool {
	mode := Shared
	if column == KindExclusive {
		mode = Exclusive
	}
	for _, n := range names {
		if kindOf(Named, n.Mode) != row {
			continue
		}
		if m := l.names[n.Name]; m != nil && len(*m.of(mode)) > 0 {
			return true
		}
	}
	return false
}
