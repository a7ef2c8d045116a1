package position

import (
	"math"
	"time"

	"bellhop/scheduler"
)

// A tail is where the last of many claims of one type ended. While a large
// backlog is worked off, the index entries of what was claimed lie before what
// is ready, and each claim would walk past all of them until the next VACUUM
// has cleaned them away: 30 ms of a processor after 400,000 jobs.
//
// What comes to be before the tail (something more urgent, a transaction that
// commits late, a retry, what was given back) rings, so a tail is good while
// nothing has rung; and no longer than tailLife, for what another instance gives
// back and what was locked for a moment. A claim that a tail leaves short is
// followed by one of everything, which alone says that there is no more.
type tail struct {
	typ   scheduler.TypeName
	ring  uint64
	whole time.Time // the last claim of everything
	at    Key
}

// Key is a place in the order of claims.
type Key struct {
	Priority int16
	ID       scheduler.JobID
}

// Beginning is before all jobs.
var Beginning = Key{Priority: math.MinInt16}

const (
	tailMany = 16 // fewer jobs are no backlog
	tailLife = time.Second
)

// start returns where a claim may begin; ok is false for at the beginning.
func (m *tail) start(d scheduler.Demand, now time.Time) (p Key, ok bool) {
	if len(d.Types) != 1 || d.Types[0].Type != m.typ || d.Ring != m.ring || now.Sub(m.whole) > tailLife {
		return Beginning, false
	}
	return m.at, true
}

// observe takes what a claim brought; whole: it looked at everything.
func (m *tail) observe(d scheduler.Demand, jobs []scheduler.Job, whole bool, now time.Time) {
	if len(d.Types) != 1 || len(jobs) < max(tailMany, d.Total) || !whole && m.typ == "" {
		*m = tail{}
		return
	}
	if whole {
		*m = tail{typ: d.Types[0].Type, ring: d.Ring, whole: now}
	}
	m.at = Beginning
	for i := range jobs {
		if p := (Key{int16(jobs[i].Priority), jobs[i].Claim.Job}); m.at.before(p) {
			m.at = p
		}
	}
}

func (p Key) before(q Key) bool {
	return p.Priority < q.Priority || p.Priority == q.Priority && p.ID < q.ID
}
