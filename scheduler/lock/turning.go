package lock

import (
	"cmp"
	"slices"

	"bellhop/scheduler/fair"
)

// turning is the jobs of one type and priority in a simulation, if some have a share: their keys take turns, in the
// order of scheduler/fair. Jobs with locks and jobs without any are two lines, as in a pass.
//
// A job without locks that reaches its place lets the job start whose turn it is. Jobs with locks have lanes of their
// own, since the job whose turn it is may have to wait for a lock.
type turning struct {
	fair.Turns
	typ    string
	weight map[string]float64
	waits  int // how many jobs wait

	next turnstile[heap[int]] // without locks: the jobs of each key, by id
}

// turnstile is keys that wait for their turns, each with what it has.
type turnstile[T any] struct {
	keys  map[string]*waitingKey[T]
	order heap[standsAt[T]]
}

type waitingKey[T any] struct {
	share  string
	turn   fair.Turn // by which it stands in the order
	queued bool
	has    T
}

// standsAt is a key in the order; it is void if the key stands elsewhere by now.
type standsAt[T any] struct {
	*waitingKey[T]
	at fair.Turn
}

// of is a key, in the order of turns from now on.
func (s *turnstile[T]) of(share string, turns *fair.Turns, empty T) *waitingKey[T] {
	if s.keys == nil {
		s.keys = map[string]*waitingKey[T]{}
		s.order.less = func(x, y standsAt[T]) bool { return x.at.Compare(y.at) < 0 }
	}
	k := s.keys[share]
	if k == nil {
		k = &waitingKey[T]{share: share, has: empty}
		s.keys[share] = k
	}
	if next := turns.Next(share); !k.queued || next.Compare(k.turn) < 0 {
		s.stand(k, next)
	}
	return k
}

func (s *turnstile[T]) stand(k *waitingKey[T], at fair.Turn) {
	k.queued, k.turn = true, at
	s.order.push(standsAt[T]{k, at})
}

// first is the key whose turn it is; nil: none has anything.
func (s *turnstile[T]) first(turns *fair.Turns, has func(*T) bool) *waitingKey[T] {
	for len(s.order.list) > 0 {
		k, next := s.order.list[0], fair.Turn{}
		valid, some := k.queued && k.at == k.turn, has(&k.has)
		if valid && some {
			if next = turns.Next(k.share); next == k.at {
				return k.waitingKey
			}
		}
		s.order.pop()
		switch {
		case valid && some: // it has started since
			s.stand(k.waitingKey, next)
		case valid:
			k.queued = false
		}
	}
	return nil
}

// Shares is what is known of the keys of shares, besides those that jobs have.
type Shares struct {
	Weights map[string]map[string]float64 // of keys, by type; not there: 1
	Lines   []Standing                    // of those that wait by now
	None    bool                          // jobs start in the order of their ids, whatever keys they have
}

// Standing are the keys of a type and priority as they stand in the queue, at its virtual time.
type Standing struct {
	Type     string
	Priority int
	Now      float64
	Keys     []fair.Standing
}

// takeTurnsBy lets the keys of shares take turns where jobs have any.
func (s *simulation) takeTurnsBy(shares Shares) {
	if shares.None {
		return
	}
	s.shared, s.turnings, s.weights = map[string]bool{}, map[line]*turning{}, shares.Weights
	for i := range s.jobs {
		if j := &s.jobs[i]; j.Share != "" {
			s.shared[j.Type] = true
		}
	}
	for _, l := range shares.Lines {
		for _, locks := range []bool{false, true} {
			s.turning(line{l.Type, l.Priority, locks}).Resume(l.Now, l.Keys)
		}
	}
}

func (s *simulation) turning(l line) *turning {
	t := s.turnings[l]
	if t == nil {
		t = &turning{typ: l.typ, weight: s.weights[l.typ]}
		s.turnings[l] = t
	}
	return t
}

// lineUp puts a job into the line of its type, if keys take turns there.
func (s *simulation) lineUp(w *waiting) {
	j := &s.jobs[w.at]
	if !s.shared[j.Type] {
		return
	}
	t := s.turning(line{j.Type, j.Priority, !w.set.Empty()})
	turn := t.Come(j.Share, cmp.Or(t.weight[j.Share], 1))
	t.waits++
	if !w.set.Empty() {
		w.turning, w.turn, w.share = t, turn, j.Share
		return
	}
	byID := heap[int]{less: func(a, b int) bool { return a < b }}
	t.next.of(j.Share, &t.Turns, byID).has.push(w.at)
}

// takeTurn is the job that starts in the place of this one, which has been chosen.
func (s *simulation) takeTurn(w *waiting) int {
	if !s.shared[w.typ] {
		return w.at
	}
	t, at, share := w.turning, w.at, w.share
	if t == nil {
		t = s.turning(line{w.typ, w.priority, false})
		k := t.next.first(&t.Turns, func(jobs *heap[int]) bool { return len(jobs.list) > 0 })
		share, at = k.share, k.has.pop()
		s.jobs[at].seat = w.id
	}
	t.Start(share)
	if t.waits--; t.waits == 0 {
		s.spent = append(s.spent, t)
	}
	return at
}

// forgive ends what keys owe in lines that are empty while there is room.
func (s *simulation) forgive() {
	if s.free <= 0 || len(s.spent) == 0 {
		return
	}
	s.spent = slices.DeleteFunc(s.spent, func(t *turning) bool {
		switch {
		case t.waits > 0:
			return true
		case s.chooser.byType != nil && s.chooser.byType[t.typ] <= 0:
			return false
		}
		t.Over()
		return true
	})
}

// turnsBefore is the order of jobs with locks whose keys take turns, as far as it was known when they came.
func turnsBefore(x, y *waiting) bool {
	return cmp.Or(x.turn.Compare(y.turn), cmp.Compare(x.id, y.id)) < 0
}
