// Package position says where in the queue the next claim looks: pure, like all of scheduler. Package intake says
// what is claimed, and for which host.
package position

import (
	"time"

	"bellhop/scheduler"
)

// Position is how far the queue is known to be worked off: what the next claim need not look at. Two things are
// known, for two kinds of dead entries in an index: where the last of many claims of one type ended (tail), and a
// snapshot under which nothing was left (horizon). Position decides; the claiming caller takes From, and tells Next
// what came of it.
type Position struct {
	horizons horizons
	tail     tail
	looking  *Look     // that is under way; nil: none
	looked   time.Time // the last one was over then
}

// New knows nothing: the first claim looks at everything.
func New() *Position {
	p := &Position{horizons: horizons{
		when:   horizonWhen,
		till:   horizonWhen,
		life:   horizonLife,
		long:   walkShare,
		look:   LookWhen,
		proofs: lookProofs,
	}}
	p.Forget()
	return p
}

// Forget: what is behind a lost connection is not known.
func (p *Position) Forget() {
	p.horizons.forget()
	p.tail, p.looking = tail{}, nil
}

// Eager has claims begin above a snapshot whenever there is one, for life: for
// tests of that.
func (p *Position) Eager(life time.Duration) {
	p.horizons.when, p.horizons.till, p.horizons.life, p.horizons.long = 0, time.Hour, life, 0
}

// EagerLooks has looks made however short a walk is: for tests of them.
func (p *Position) EagerLooks() { p.horizons.look, p.horizons.proofs = 0, 0 }

// From is where a claim begins.
type From struct {
	Behind   Key       // what lies at or before it in the order of claims is not looked at
	Above    *Snapshot // what it shows is not looked at either; nil: everything is
	Upto     Key       // nor what lies behind this, where Above is there
	Snapshot bool      // one is to be taken before this claim
	Look     *Look     // is to be made beside it, and those that follow; nil: none
	tail     bool      // Behind is where the last claim ended
	before   bool      // Upto is
	blind    bool      // nothing is learned of it
}

// Snapshot is one of the database's, in its words.
type Snapshot struct {
	Xmax       string
	InProgress []string  // transactions that were under way
	whole      time.Time // the claim or the look that it goes back to, of everything
	heard      heard     // and what was ready again by then
}

// Taken is the snapshot that was taken before a claim; none where Text is empty.
type Taken struct {
	Text string        // xmin:xmax:xip,xip
	Took time.Duration // until it was there
}

// From says where the next claim begins.
func (p *Position) From(d scheduler.Demand, now time.Time) From {
	if !eligible(d) {
		return From{Behind: Beginning, blind: true}
	}
	if at, ok := p.tail.start(d, now); ok {
		return From{Behind: at, tail: true}
	}
	if seen := p.tail.before(d, now); seen != nil {
		return From{Behind: Beginning, Above: seen.snapshot(), Upto: p.tail.at, Snapshot: true, before: true}
	}
	above, stale := p.horizons.start(d, now)
	f := From{Behind: Beginning, Snapshot: p.horizons.needsSnapshot(d, above, now)}
	if above != nil {
		f.Above, f.Upto = above.snapshot(), End
	}
	if stale {
		f.Look = p.begin(d, above, now)
	}
	return f
}

// Next takes what a claim from there brought, which began and ended then, after
// which snapshot. more: a claim of the rest has to follow, since one behind a
// tail does not tell what lies before it.
func (p *Position) Next(
	d scheduler.Demand, f From, snapshot Taken, jobs []scheduler.Job, began, ended time.Time,
) (rest scheduler.Demand, more bool) {
	switch {
	case f.blind:
		return d, false
	case f.before:
		p.tail.looked(d, len(jobs) < asked(d), snapshot, ended)
		return without(d, len(jobs))
	case f.tail:
		if under := p.tail.observe(d, brought{jobs: jobs, slow: p.slow(d)}, began); under != nil { // short: it is void
			p.horizons.of[d.Types[0].Type] = under
		}
		return without(d, len(jobs))
	}
	got := map[scheduler.TypeName]int{}
	for i := range jobs {
		got[jobs[i].Type]++
	}
	p.horizons.observe(d, f.Above, snapshot, got, ended.Sub(began), ended)
	if f.Above == nil { // else it says nothing of a tail, which may be another type's
		p.tail.observe(d, brought{jobs, true, p.slow(d), ended.Sub(began), snapshot}, began)
	}
	return d, false
}

// without is the rest of a demand for one type; more: something is.
func without(d scheduler.Demand, n int) (rest scheduler.Demand, more bool) {
	rest = d
	rest.Types = []scheduler.TypeDemand{d.Types[0]}
	rest.Types[0].Limit -= n
	rest.Total -= n
	return rest, asked(rest) > 0
}

// asked is how many jobs a claim for one type may bring. As soon as it brings fewer, there were no more.
func asked(d scheduler.Demand) int { return min(d.Total, d.Types[0].Limit) }

// slow reports whether claims of everything of its one type walk past dead entries.
func (p *Position) slow(d scheduler.Demand) bool {
	return len(d.Types) == 1 && p.horizons.slow[d.Types[0].Type]
}
