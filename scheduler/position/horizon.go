package position

import (
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
)

// A horizon is a snapshot under which nothing of a type was left to claim: the next claims need to look only at
// rows that it did not show. Then they do not walk past the index entries of all finished jobs, which vacuum cannot
// remove while a session holds an old snapshot.
//
// It misses nothing that is inserted: that is of a transaction which the snapshot does not show. What becomes ready
// again (a retry, a release, a job that was given back) it may miss. So it is good until the next of that is heard, and
// no longer than horizonLife: another instance may give something back, or a row may have been locked for a moment. The
// safety scan looks at everything. After that, something has to look at what lies under it: the next claim, or, where
// that would take long, a Look.
type horizon struct {
	heard      heard
	taken      time.Time
	whole      time.Time // the claim or the look that it goes back to, of everything
	xmax       string
	inProgress []string // transactions that were under way, and those of jobs that a look has found
}

const (
	// A claim of a few jobs that takes so long walks past dead entries: on a machine that has time for it. On one that
	// has none, whatever is asked takes long; then it is one that takes as long as so many statements that look at no
	// row, of which that for a snapshot is one.
	horizonWhen  = 3 * time.Millisecond
	horizonTrips = 8
	tripLife     = time.Second // how long what such a statement took is good for
	horizonFew   = 16
	horizonLife  = 4 * time.Second // shorter than the safety scan's pace
	// What has come since is walked past again: a newer one is taken after this.
	horizonFresh = 100 * time.Millisecond
	// Each transaction under way is looked for.
	horizonInProgress = 64
	// What a claim may take for each job that it brings.
	horizonEach = 50 * time.Microsecond
	// A horizon, or a tail, is good for so many times as long as the claim of everything took from which it is, if that
	// is longer: else a queue with millions of dead entries would do little but walk past them. The safety scan looks at
	// everything all the same.
	walkShare = 100
)

// horizons are those of all types.
type horizons struct {
	when   time.Duration // horizonWhen, from when on claims of everything are slow; the tests want horizons always
	till   time.Duration // and till when claims above a horizon are not
	life   time.Duration // horizonLife
	long   time.Duration // walkShare
	look   time.Duration // LookWhen
	proofs int           // lookProofs
	of     map[scheduler.TypeName]*horizon
	slow   map[scheduler.TypeName]bool          // the last claim of everything was
	walk   map[scheduler.TypeName]time.Duration // and it, or the last look, took so long
	far    map[scheduler.TypeName]int           // so many claims of everything in a row have walked far
	lost   map[scheduler.TypeName]time.Duration // slow claims above its horizon, which left something, have taken so long
	trip   time.Duration                        // what the last snapshot took to come
	went   time.Time                            // and when that was
}

// forget: what is behind a lost connection is not known.
func (f *horizons) forget() {
	f.of, f.slow = map[scheduler.TypeName]*horizon{}, map[scheduler.TypeName]bool{}
	f.walk, f.lost = map[scheduler.TypeName]time.Duration{}, map[scheduler.TypeName]time.Duration{}
	f.far = map[scheduler.TypeName]int{}
}

// eligible reports whether a claim may be made above a horizon at all.
func eligible(d scheduler.Demand) bool {
	if d.Only != nil || d.Assigned || !d.MSQ || len(d.Localities) > 0 || len(d.Preemptors) > 0 {
		return false
	}
	for _, t := range d.Types {
		if t.MaxPriority < 19 || t.Placed {
			return false
		}
	}
	return true
}

// start returns the horizon of all types of a demand: the oldest of theirs, since
// what an older snapshot shows a newer one shows too. Nil: there is none. stale: a look at what lies under it is due.
func (f *horizons) start(d scheduler.Demand, now time.Time) (all *horizon, stale bool) {
	walk := f.longest(types(d))
	for _, t := range d.Types {
		one := f.of[t.Type]
		if one == nil {
			return nil, false
		}
		if one.heard != heardIn(d) || now.Sub(one.whole) > max(f.life, f.long*f.walk[t.Type]) {
			if walk < f.look || !f.proven(types(d)) {
				return nil, false
			}
			stale = true
		}
		if all = all.with(one); len(all.inProgress) > horizonInProgress {
			return nil, false
		}
	}
	return all, stale
}

// longest is what a claim of everything is likely to take.
func (f *horizons) longest(types []scheduler.TypeName) (walk time.Duration) {
	for _, t := range types {
		walk = max(walk, f.walk[t])
	}
	return walk
}

// with is what a claim above both horizons looks above.
func (h *horizon) with(one *horizon) *horizon {
	if h == nil || h == one {
		return one
	}
	both, newer := *h, one
	if one.taken.Before(h.taken) {
		both, newer = *one, h
	}
	both.inProgress = both.and(newer.inProgress) // a look may have found something for the newer one
	both.heard = both.heard.least(newer.heard)
	if newer.whole.Before(both.whole) {
		both.whole = newer.whole
	}
	return &both
}

// and adds transactions to those that were under way, each once. The snapshot shows none from its xmax on: a claim that
// looked for such a one by name, too, would take it that the same job came twice.
func (h *horizon) and(others []string) []string {
	all := slices.Clone(h.inProgress)
	for _, x := range others {
		if before := len(x) < len(h.xmax) || len(x) == len(h.xmax) && x < h.xmax; before && !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// needsSnapshot reports whether a snapshot is to be taken before a claim: claims of
// everything are slow, and there is no horizon, or an old one.
func (f *horizons) needsSnapshot(d scheduler.Demand, above *horizon, now time.Time) bool {
	for _, t := range d.Types {
		if !f.slow[t.Type] {
			return false
		}
	}
	return above == nil || now.Sub(above.taken) > horizonFresh
}

// observe takes what a claim was like: above which horizon (nil: of everything),
// after which snapshot, how many jobs of each type it brought, and how long it took.
func (f *horizons) observe(
	d scheduler.Demand, above *Snapshot, snapshot Taken, got map[scheduler.TypeName]int,
	took time.Duration, now time.Time,
) {
	if snapshot.Text != "" {
		f.trip, f.went = snapshot.Took, now
	}
	long := time.Duration(0)
	if now.Sub(f.went) < tripLife {
		long = horizonTrips * f.trip
	}
	n := 0
	for _, of := range got {
		n += of
	}
	next, taken := snapshotHorizon(snapshot.Text)
	next.heard, next.taken, next.whole = heardIn(d), now, now
	if above != nil {
		next.whole, next.heard = above.whole, above.heard
	}
	for _, t := range d.Types {
		if above == nil && n <= horizonFew {
			f.slow[t.Type] = f.when == 0 || took >= max(f.when, long)
		}
		if above == nil {
			f.walk[t.Type] = took
			f.prove(t.Type, took, snapshot)
		}
		all := got[t.Type] < t.Limit && n < d.Total // and there was no more
		switch {
		case all && taken:
			f.of[t.Type] = &next
			delete(f.lost, t.Type)
		case above != nil && !all && f.tooMuch(t.Type, n, took, long):
			delete(f.of, t.Type)
		}
	}
}

// tooMuch reports, of a claim above a horizon that left something, whether so much has come that it is for the index of
// priorities: such claims sort all of it each time. A claim of everything begins a tail, and pays once they have taken
// as long as that one would.
func (f *horizons) tooMuch(t scheduler.TypeName, n int, took, long time.Duration) bool {
	if took >= max(f.till+time.Duration(n)*horizonEach, long) {
		f.lost[t] += took
	}
	much := n > horizonFew && !f.slow[t] || f.lost[t] > 0 && f.lost[t] >= f.walk[t]
	if much {
		delete(f.lost, t)
	}
	return much
}

func (h *horizon) snapshot() *Snapshot { return &Snapshot{h.xmax, h.inProgress, h.whole, h.heard} }

// snapshotHorizon reads xmin:xmax:xip,xip.
func snapshotHorizon(text string) (f horizon, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return horizon{}, false
	}
	f = horizon{xmax: parts[1], inProgress: []string{}}
	if parts[2] != "" {
		f.inProgress = strings.Split(parts[2], ",")
	}
	return f, len(f.inProgress) <= horizonInProgress
}
