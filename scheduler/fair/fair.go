// Package fair is the order in which keys take turns (start-time fair queueing), as a model: bellhop.pick_of_line
// decides the same in SQL, and a test holds the two against each other.
package fair

import (
	"cmp"
	"slices"
)

// Line is the keys of one type and priority. The zero value has none.
type Line struct {
	now  float64 // virtual time: the tag of the last start
	came int64
	keys []*key
	new  []*key // have come since the last claim
}

type key struct {
	name  string
	tag   float64 // the virtual time of its next start
	began bool    // it has started since it came; at the same tag, keys that have not go first
	came  int64
	step  float64 // of virtual time, for one start: 1/weight
	jobs  int
	idle  bool
}

// Come adds jobs of a key.
func (l *Line) Come(name string, weight float64, jobs int) {
	l.came++
	l.new = append(l.new, &key{name: name, step: 1 / weight, came: entered(name, l.came), jobs: jobs})
}

// enter puts what has come into the line. A key that was idle goes on at the present time, or later, if it owes.
func (l *Line) enter() {
	for _, c := range l.new {
		i := slices.IndexFunc(l.keys, func(k *key) bool { return k.name == c.name })
		if i < 0 {
			c.tag = l.now
			l.keys = append(l.keys, c)
			continue
		}
		k := l.keys[i]
		k.jobs += c.jobs
		if k.idle {
			k.idle, k.began, k.came, k.tag = false, k.tag > l.now, c.came, max(k.tag, l.now)
		}
	}
	l.new = nil
}

// Take gives the keys of the next starts, n at most, in their order.
func (l *Line) Take(n int) (starts []string) {
	l.enter()
	for len(starts) < n {
		k := l.next()
		if k == nil {
			break
		}
		if k.jobs == 0 {
			k.idle = true
			continue
		}
		l.now = k.tag
		k.tag, k.began, k.jobs = k.tag+k.step, true, k.jobs-1
		starts = append(starts, k.name)
	}
	// A key that owes nothing any more is forgotten; when no key has work, none owes.
	over := l.next() == nil
	l.keys = slices.DeleteFunc(l.keys, func(k *key) bool { return k.idle && (over || k.tag <= l.now) })
	return starts
}

// next is the key whose turn it is; nil: none has work.
func (l *Line) next() *key {
	var first *key
	for _, k := range l.keys {
		if !k.idle && (first == nil || order(k, first) < 0) {
			first = k
		}
	}
	return first
}

func order(a, b *key) int {
	return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(turn(a.began), turn(b.began)), cmp.Compare(a.came, b.came))
}

func turn(began bool) int {
	if began {
		return 1
	}
	return 0
}
