package fair

import "cmp"

// Turns are the same keys for a simulation of very many jobs, which keeps keys and jobs in an order of its own: it asks
// when a key's next turn is, and tells what starts. The zero value has no keys.
type Turns struct {
	now  float64
	came int64
	high Turn // the latest that has been taken
	keys map[string]*turning
}

// Turn is when a key starts a job, in virtual time.
type Turn struct {
	at    float64
	began bool
	came  int64
}

// Compare gives below 0 if this turn comes before the other.
func (t Turn) Compare(o Turn) int {
	return cmp.Or(cmp.Compare(t.at, o.at), cmp.Compare(turn(t.began), turn(o.began)), cmp.Compare(t.came, o.came))
}

// turning is a key of Turns.
type turning struct {
	next Turn
	last Turn // of its jobs that wait
	step float64
	jobs int
	idle bool
}

// Standing is a key as it stands in a line that goes on here.
type Standing struct {
	Name   string
	Weight float64
	Tag    float64 // the virtual time of its next start
	Began  bool    // it has started since it came
	Came   int64
	Idle   bool // it has no job: it is there because it owes
}

// Resume goes on where a line stands, at its virtual time.
func (l *Turns) Resume(now float64, keys []Standing) {
	l.now, l.keys = now, map[string]*turning{}
	for _, s := range keys {
		l.keys[s.Name] = &turning{next: Turn{s.Tag, s.Began, s.Came}, step: 1 / s.Weight, idle: s.Idle}
		l.came = max(l.came, s.Came)
	}
}

// Come adds a job of a key. It returns the turn in which the job starts if those of its key that are there start first,
// and no other.
func (l *Turns) Come(name string, weight float64) Turn {
	l.came++
	k := l.keys[name]
	if k == nil {
		if l.keys == nil {
			l.keys = map[string]*turning{}
		}
		k = &turning{step: 1 / weight, idle: true}
		l.keys[name] = k
	}
	// A key is idle from when its turn has passed without a job of it.
	if k.idle || k.jobs == 0 && l.high.Compare(k.next) > 0 {
		k.idle, k.next = false, Turn{max(k.next.at, l.now), k.next.at > l.now, entered(name, l.came)}
	}
	if k.jobs++; k.jobs == 1 {
		k.last = k.next
	} else {
		k.last.at, k.last.began = k.last.at+k.step, true
	}
	return k.last
}

// Next is a key's next turn.
func (l *Turns) Next(name string) Turn { return l.keys[name].next }

// Start takes a key's next turn for a job of it.
func (l *Turns) Start(name string) {
	k := l.keys[name]
	l.now = max(l.now, k.next.at)
	if k.next.Compare(l.high) > 0 {
		l.high = k.next
	}
	k.next.at, k.next.began, k.jobs = max(k.next.at, l.now)+k.step, true, k.jobs-1
}

// Over tells that no key has a job, and that there is room for one: none owes any more.
func (l *Turns) Over() { clear(l.keys) }

// entered is when a key has come. Jobs without a key are always there.
func entered(name string, came int64) int64 {
	if name == "" {
		return 0
	}
	return came
}
