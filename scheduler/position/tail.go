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
// back and what was locked for a moment, or walkShare times what the claim of
// everything took. A claim that a tail leaves short is followed by one of
// everything, which alone says that there is no more.
//
// Where such a claim walks past many dead entries, a snapshot was taken before it. After a ring, what was inserted
// before the tail is then among the rows that it does not show: a claim looks at those alone, and a newer snapshot
// takes its place. What becomes ready again makes the tail void.
type tail struct {
	typ   scheduler.TypeName
	ring  uint64
	heard heard
	whole time.Time // the last claim of everything
	life  time.Duration
	at    Key
	seen  *horizon // what it shows was looked at, up to the tail; nil: not known
}

// Key is a place in the order of claims.
type Key struct {
	Priority int16
	ID       scheduler.JobID
}

// Beginning is before all jobs, and End behind them.
var (
	Beginning = Key{Priority: math.MinInt16}
	End       = Key{Priority: math.MaxInt16, ID: math.MaxInt64}
)

const (
	tailMany = 16 // fewer jobs are no backlog, unless a claim of everything walks past many dead entries
	tailLife = time.Second
)

// lives reports whether there is a tail for such a claim.
func (m *tail) lives(d scheduler.Demand, now time.Time) bool {
	return len(d.Types) == 1 && d.Types[0].Type == m.typ && m.typ != "" && now.Sub(m.whole) <= m.life
}

// start returns where a claim may begin; ok is false for at the beginning.
func (m *tail) start(d scheduler.Demand, now time.Time) (p Key, ok bool) {
	if !m.lives(d, now) || d.Ring != m.ring {
		return Beginning, false
	}
	return m.at, true
}

// before returns the snapshot above which a claim looks at what came before the tail since; nil: no such claim does.
func (m *tail) before(d scheduler.Demand, now time.Time) *horizon {
	if !m.lives(d, now) || heardIn(d) != m.heard {
		return nil
	}
	return m.seen
}

// looked takes what such a claim brought, before which a snapshot was taken. short: there was no more before the tail.
func (m *tail) looked(d scheduler.Demand, short bool, snapshot Taken, now time.Time) {
	if !short {
		return
	}
	next, ok := snapshotHorizon(snapshot.Text)
	if !ok {
		*m = tail{}
		return
	}
	next.heard, next.taken, next.whole = heardIn(d), now, m.whole
	m.seen, m.ring = &next, d.Ring
}

// brought is what a claim brought; whole: it looked at everything, and took so long, after that snapshot; slow: such a
// claim walks past dead entries.
type brought struct {
	jobs     []scheduler.Job
	whole    bool
	slow     bool
	took     time.Duration
	snapshot Taken
}

// observe takes what a claim brought. It gives the snapshot under which nothing is left, where a short claim behind the
// tail has shown that.
func (m *tail) observe(d scheduler.Demand, b brought, now time.Time) (under *horizon) {
	many := tailMany
	if b.slow {
		many = 1
	}
	if len(d.Types) != 1 || len(b.jobs) < max(many, asked(d)) {
		if !b.whole && len(b.jobs) < asked(d) {
			under = m.seen
		}
		*m = tail{}
		return under
	}
	if b.whole {
		*m = tail{typ: d.Types[0].Type, ring: d.Ring, heard: heardIn(d), whole: now}
		m.life = max(tailLife, walkShare*b.took)
		if seen, ok := snapshotHorizon(b.snapshot.Text); ok {
			seen.heard, seen.taken, seen.whole = heardIn(d), now, now
			m.seen = &seen
		}
	}
	m.at = Beginning
	for i := range b.jobs {
		if p := (Key{int16(b.jobs[i].Priority), b.jobs[i].Claim.Job}); m.at.before(p) {
			m.at = p
		}
	}
	return nil
}

func (p Key) before(q Key) bool {
	return p.Priority < q.Priority || p.Priority == q.Priority && p.ID < q.ID
}
