package position

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

// A Look asks what lies under a horizon and is ready all the same: a retry, say, or what was locked for a moment. It
// walks past as many dead entries as a claim of everything does. So it is made on another connection, while claims
// above the horizon go on; and what it finds is claimed through the transactions that inserted it.
type Look struct {
	Types    []scheduler.TypeName
	Snapshot               // under which it looks
	After    time.Duration // it begins so long after now

	known bool // something is ready again
	began time.Time
}

// Found is what a look found.
type Found struct {
	Transactions []string      // that inserted the jobs
	Failed       bool          // it did not come to its end, or there is more than it tells
	Took         time.Duration // the walk; 0: it was not made
}

// LookWhen: what walks past dead entries for so long is done beside the claims. It takes more than a connection does.
const LookWhen = 10 * time.Millisecond

const (
	// A claim that takes long may be one on a machine that has no time for it. So many in a row have to take LookWhen, and
	// horizonTrips times as long as the snapshot before each: while a look is under way, a job that became ready again is
	// overtaken by less urgent ones that were inserted since.
	lookProofs = 4
	// After a look, the next one begins after so many times as long as its walk takes: else looks could do nothing but
	// walk. Where something is known to be ready again, a job waits for it.
	lookRest      = 20
	lookRestKnown = 4
	// And no sooner than this: each has a new connection, which costs the server as much as a short walk.
	lookGap = 250 * time.Millisecond
)

// begin gives the look that is to begin now, in place of one that is under way; nil: none. The horizon is that of a
// claim. It looks for all types that have one: else the looks of one host's types would leave no turn to another's.
func (p *Position) begin(d scheduler.Demand, under *horizon, now time.Time) *Look {
	known := under.heard.known != heardIn(d).known
	if p.looking != nil && (p.looking.known || !known) {
		return nil // what is heard meanwhile is looked for by the next one
	}
	rest := lookRest
	if known {
		rest = lookRestKnown
	}
	names := types(d)
	if all, merged := p.horizons.everything(); merged != nil {
		names, under = all, merged
	}
	pause := max(time.Duration(rest)*p.horizons.longest(names), lookGap)
	p.looking = &Look{Types: names, Snapshot: *under.snapshot(), known: known, began: now,
		After: max(0, p.looked.Add(pause).Sub(now))}
	p.looking.heard = heardIn(d)
	for _, t := range names { // what it finds is ready under this one, and not under a newer one
		p.horizons.of[t] = under
	}
	return p.looking
}

// everything gives all types that have a horizon, and what lies above all of these; nil: too much was under way.
func (f *horizons) everything() (names []scheduler.TypeName, all *horizon) {
	names = slices.Sorted(maps.Keys(f.of))
	for _, t := range names {
		if all = all.with(f.of[t]); len(all.inProgress) > horizonInProgress {
			return nil, nil
		}
	}
	return names, all
}

// Looked takes what a look found.
func (p *Position) Looked(l *Look, found Found, now time.Time) {
	if l != p.looking { // of a connection that was lost, or another took its place
		return
	}
	p.looking, p.looked = nil, now
	for _, t := range l.Types {
		p.horizons.looked(t, l, found)
	}
}

// looked takes it for one type. A horizon that it cannot speak for ends: the next claim looks at everything.
func (f *horizons) looked(t scheduler.TypeName, l *Look, found Found) {
	h := f.of[t]
	if h == nil || h.whole.After(l.began) {
		return
	}
	next := *h
	next.inProgress = h.and(found.Transactions)
	if found.Failed || len(next.inProgress) > horizonInProgress {
		delete(f.of, t)
		return
	}
	next.heard, next.whole = l.heard, l.began
	if f.of[t], f.walk[t] = &next, found.Took; found.Took < f.look {
		f.far[t] = 0
	}
}

// prove takes what a claim of everything took, after a snapshot.
func (f *horizons) prove(t scheduler.TypeName, took time.Duration, snapshot Taken) {
	switch {
	case took < max(f.look, horizonTrips*snapshot.Took):
		f.far[t] = 0
	case snapshot.Text != "":
		f.far[t]++
	}
}

// proven reports whether claims of everything of one of these types walk far, and do not only take long.
func (f *horizons) proven(types []scheduler.TypeName) bool {
	return slices.ContainsFunc(types, func(t scheduler.TypeName) bool { return f.far[t] >= f.proofs })
}

// heard is how often by some time jobs were known, or may have become, ready again.
type heard struct{ known, scans uint64 }

func heardIn(d scheduler.Demand) heard { return heard{d.Readmitted - d.Scans, d.Scans} }

func (h heard) least(other heard) heard {
	return heard{min(h.known, other.known), min(h.scans, other.scans)}
}

func types(d scheduler.Demand) (names []scheduler.TypeName) {
	for _, t := range d.Types {
		names = append(names, t.Type)
	}
	return names
}
