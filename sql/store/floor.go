package store

import (
	"strings"
	"time"

	"bellhop/scheduler"
)

// A floor is a snapshot under which nothing of a type was left to claim: the
// next claims need to look only at what it did not show. Then they do not walk
// past the index entries of all jobs that are over, which nobody can clean away
// while an old snapshot is held somewhere.
//
// It misses nothing that is inserted: that is of a transaction which the snapshot
// does not show. What becomes ready again (a retry, a release, what was given
// back) it may miss, so it is good for one value of Demand.Again, which grows
// with all of that; and no longer than floorLife, since another instance may give
// something back, or a row may have been locked for a moment: the safety scan
// looks at everything.
type floor struct {
	again uint64
	taken time.Time
	whole time.Time // the claim of everything that it goes back to
	xmax  string
	under []string // transactions that were under way
}

const (
	// A claim of a few jobs that takes so long walks past dead entries.
	floorWhen = 3 * time.Millisecond
	floorFew  = 16
	floorLife = 4 * time.Second // shorter than the safety scan's pace
	// What has come since is walked past again: a newer one is taken after this.
	floorFresh = 100 * time.Millisecond
	// Each transaction under way is looked for.
	floorUnder = 64
)

// floors are what a claimer knows. Used under its link's lock.
type floors struct {
	when time.Duration // floorWhen, from when on claims of everything are slow; the tests want floors always
	till time.Duration // and till when claims above a floor are not
	life time.Duration // floorLife
	of   map[scheduler.TypeName]*floor
	slow map[scheduler.TypeName]bool // the last claim of everything was
}

// forget: what is behind a lost connection is not known.
func (f *floors) forget() {
	f.of, f.slow = map[scheduler.TypeName]*floor{}, map[scheduler.TypeName]bool{}
}

// suits reports whether a claim may be made above a floor at all.
func suits(d scheduler.Demand) bool {
	if d.Only != nil || d.Assigned || !d.MSQ || len(d.Answers) > 0 || len(d.Rivals) > 0 {
		return false
	}
	for _, t := range d.Types {
		if t.Worst < 19 || t.Placed {
			return false
		}
	}
	return true
}

// under returns the floor of all types of a demand: the oldest of theirs, since
// what an older snapshot shows a newer one shows too. Nil: there is none.
func (f *floors) under(d scheduler.Demand, now time.Time) *floor {
	var oldest *floor
	for _, t := range d.Types {
		one := f.of[t.Type]
		if one == nil || one.again != d.Again || now.Sub(one.whole) > f.life {
			return nil
		}
		if oldest == nil || one.taken.Before(oldest.taken) {
			oldest = one
		}
	}
	return oldest
}

// wants reports whether a snapshot is to be taken before a claim: claims of
// everything are slow, and there is no floor, or an old one.
func (f *floors) wants(d scheduler.Demand, above *floor, now time.Time) bool {
	for _, t := range d.Types {
		if !f.slow[t.Type] {
			return false
		}
	}
	return above == nil || now.Sub(above.taken) > floorFresh
}

// learn takes what a claim was like: above which floor (nil: of everything),
// after which snapshot ("": none was taken), how many jobs of each type it
// brought, and how long it took.
func (f *floors) learn(d scheduler.Demand, above *floor, snapshot string, got map[scheduler.TypeName]int, took time.Duration, now time.Time) {
	n := 0
	for _, of := range got {
		n += of
	}
	next, taken := snapshotFloor(snapshot)
	next.again, next.taken, next.whole = d.Again, now, now
	if above != nil {
		next.whole = above.whole
	}
	for _, t := range d.Types {
		if above == nil && n <= floorFew {
			f.slow[t.Type] = took >= f.when
		}
		all := got[t.Type] < t.Most && n < d.Total // and there was no more
		switch {
		case all && taken:
			f.of[t.Type] = &next
		case above != nil && (n > floorFew || took >= f.till):
			delete(f.of, t.Type) // much has come: that is for the index of priorities
		}
	}
}

// snapshotFloor reads xmin:xmax:xip,xip.
func snapshotFloor(text string) (f floor, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return floor{}, false
	}
	f = floor{xmax: parts[1], under: []string{}}
	if parts[2] != "" {
		f.under = strings.Split(parts[2], ",")
	}
	return f, len(f.under) <= floorUnder
}
