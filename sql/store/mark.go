package store

import (
	"math"
	"time"

	"bellhop/scheduler"
)

// A mark is where the last of many claims of one type ended. While a large
// backlog is worked off, the index entries of what was claimed lie before what
// is ready, and each claim would walk past all of them until the next VACUUM
// has cleaned them away: 30 ms of a processor after 400,000 jobs.
//
// What comes to be before the mark (something more urgent, a transaction that
// commits late, a retry, what was given back) rings, so a mark is good while
// nothing has rung; and no longer than markLife, for what another instance gives
// back and what was locked for a moment. A claim that a mark leaves short is
// followed by one of everything, which alone says that there is no more.
type mark struct {
	typ   scheduler.TypeName
	ring  uint64
	whole time.Time // the last claim of everything
	at    place
}

// place is one in the order of claims.
type place struct {
	priority int16
	id       scheduler.JobID
}

// everything lies behind this.
var everything = place{priority: math.MinInt16}

const (
	markMany = 16 // fewer jobs are no backlog
	markLife = time.Second
)

// under returns where a claim may begin; ok is false for at the beginning.
func (m *mark) under(d scheduler.Demand, now time.Time) (p place, ok bool) {
	if len(d.Types) != 1 || d.Types[0].Type != m.typ || d.Ring != m.ring || now.Sub(m.whole) > markLife {
		return everything, false
	}
	return m.at, true
}

// learn takes what a claim brought; whole: it looked at everything.
func (m *mark) learn(d scheduler.Demand, jobs []scheduler.Job, whole bool, now time.Time) {
	if len(d.Types) != 1 || len(jobs) < max(markMany, d.Total) || !whole && m.typ == "" {
		*m = mark{}
		return
	}
	if whole {
		*m = mark{typ: d.Types[0].Type, ring: d.Ring, whole: now}
	}
	m.at = everything
	for i := range jobs {
		if p := (place{int16(jobs[i].Priority), jobs[i].Claim.Job}); m.at.before(p) {
			m.at = p
		}
	}
}

func (p place) before(q place) bool {
	return p.priority < q.priority || p.priority == q.priority && p.id < q.id
}
