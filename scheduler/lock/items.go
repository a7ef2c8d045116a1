package lock

// Items is the order in which items of one job that have locks may go. An item may go as soon as it does not
// conflict with the items that may already, nor with any that waits before it. So no item is overtaken by one that
// would be in its way, and the first waits only for those that have begun.
type Items struct {
	line    []waitingItem // in order
	may     map[int64]*sameLocks
	use     usage // of those that may
	sets    map[string]*sameLocks
	changed bool // since Next was asked
	looks   int  // how often the line was walked along
}

// sameLocks is what items have in common that need the same.
type sameLocks struct {
	set    Set
	key    string
	n      int
	passed int // the look with which one of them was found to have to wait
}

type waitingItem struct {
	item int64
	*sameLocks
}

// Add puts an item behind all others; its locks are not empty.
func (d *Items) Add(item int64, set Set) {
	if d.may == nil {
		d.may, d.sets = map[int64]*sameLocks{}, map[string]*sameLocks{}
	}
	key := set.key()
	s := d.sets[key]
	if s == nil {
		s = &sameLocks{set: set, key: key}
		d.sets[key] = s
	}
	s.n++
	d.line = append(d.line, waitingItem{item, s})
	d.changed = true
}

// Next lists, in order, the items that may go now and could not at the last call.
func (d *Items) Next() (list []int64) {
	if !d.changed {
		return nil
	}
	d.changed = false
	d.looks++
	var before usage // of those that were passed by
	rest := d.line[:0]
	for _, w := range d.line {
		switch {
		case w.passed == d.looks: // one that needs the same waits before it
		case d.use.clashes(w.set) || before.clashes(w.set):
			w.passed = d.looks
			before.add(w.set, 1)
		default:
			d.use.add(w.set, 1)
			d.may[w.item] = w.sameLocks
			list = append(list, w.item)
			continue
		}
		rest = append(rest, w)
	}
	clear(d.line[len(rest):])
	d.line = rest
	return list
}

// Locks are those of an item that may go.
func (d *Items) Locks(item int64) Set {
	if s := d.may[item]; s != nil {
		return s.set
	}
	return Set{}
}

// Over: an item that may go needs nothing any more.
func (d *Items) Over(item int64) {
	s := d.may[item]
	if s == nil {
		return
	}
	delete(d.may, item)
	d.use.add(s.set, -1)
	d.changed = true
	d.leave(s)
}

func (d *Items) leave(s *sameLocks) {
	if s.n--; s.n == 0 {
		delete(d.sets, s.key)
	}
}

// Forget drops all that may not go yet.
func (d *Items) Forget() {
	for _, w := range d.line {
		d.leave(w.sameLocks)
	}
	d.line = nil
}

// Waiting is how many may not go yet.
func (d *Items) Waiting() int { return len(d.line) }

// usage counts needs by lock, so that a clash with many is found by looking at a few numbers. It agrees with what
// Conflicts says of each of them.
type usage struct {
	sets   int // that are not empty
	big    int
	levels map[string]*levelUsage
}

type levelUsage struct {
	all, names byMode
	of         map[string]byMode // by name
}

// byMode counts by Mode.
type byMode [Exclusive + 1]int

func (m byMode) clashes(with Mode) bool {
	return with != 0 && (m[Exclusive] > 0 || with == Exclusive && m[Shared] > 0)
}

// add counts a set, or with −1 takes it away.
func (u *usage) add(s Set, n int) {
	if s.Empty() {
		return
	}
	u.sets += n
	if s.Big {
		u.big += n
	}
	for _, v := range s.Levels {
		l := u.levels[v.Level]
		if l == nil {
			if u.levels == nil {
				u.levels = map[string]*levelUsage{}
			}
			l = &levelUsage{of: map[string]byMode{}}
			u.levels[v.Level] = l
		}
		l.all[v.All] += n
		for _, name := range v.Names {
			l.names[name.Mode] += n
			of := l.of[name.Name]
			if of[name.Mode] += n; of == (byMode{}) {
				delete(l.of, name.Name)
			} else {
				l.of[name.Name] = of
			}
		}
	}
}

// clashes reports whether a set conflicts with one that is counted.
func (u *usage) clashes(s Set) bool {
	if s.Empty() || u.sets == 0 {
		return false
	}
	if s.Big || u.big > 0 {
		return true
	}
	for _, v := range s.Levels {
		l := u.levels[v.Level]
		if l == nil {
			continue
		}
		if l.all.clashes(v.All) || l.names.clashes(v.All) {
			return true
		}
		for _, n := range v.Names {
			if l.all.clashes(n.Mode) || l.of[n.Name].clashes(n.Mode) {
				return true
			}
		}
	}
	return false
}
