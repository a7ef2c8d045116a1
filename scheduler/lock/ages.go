package lock

import (
	"cmp"
	"strings"
	"time"
)

// Ages is when ages want the next look at the jobs of a pass; zero: they want none. A look finds the waiting jobs that
// have aged, and has them reserved for. One is wanted when the first of the jobs that wait ages. It is wanted at once
// if an aged job goes behind a lock, or starts: a job behind it may have aged long ago, and be the first there now.
// Jobs that a filter or a limit keeps waiting, or whose locks cannot be read, are not reserved for.
func (p Policy) Ages(pass Pass, c Choice) (at time.Time) {
	if p.Constants.Horizon() == 0 || !cmp.Or(p.Order, Predictive).reserves() {
		return at
	}
	known, starts, behind, parted := map[ID]bool{}, map[ID]bool{}, map[ID]bool{}, map[ID]bool{}
	for _, w := range pass.Reserved {
		known[w.Job] = true
	}
	for _, s := range c.Start {
		starts[s.Job] = true
	}
	for _, s := range c.Wait {
		level, _, _ := strings.Cut(s.Behind, ":")
		switch level {
		case pausedLevel, filterLevel, limitLevel, unreadableLevel:
			parted[s.Job] = true
		default:
			behind[s.Job] = true
		}
	}
	for _, r := range c.Reject {
		parted[r.Job] = true
	}
	for _, w := range pass.Reserved {
		if starts[w.Job] {
			return pass.Now
		}
	}
	for _, w := range pass.Waiting {
		ages := w.Since.Add(p.Constants.Horizon())
		aged := !ages.After(pass.Now)
		switch {
		case len(w.Locks) == 0 || parted[w.Job]:
		case aged && (starts[w.Job] || behind[w.Job] && !known[w.Job]):
			return pass.Now
		case !aged && !starts[w.Job]:
			at = Earliest(at, ages)
		}
	}
	return at
}

// Earliest is the earlier one of two times; zero: never.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Looks is when ages want the next look, of what passes and looks have told. The zero value wants none.
type Looks struct {
	at   time.Time // zero: none is wanted
	from time.Time // no look before: looks take no more than their share of the time
}

// A look is followed by none for so many times what it took, and for so long at least.
const (
	looksShare = 20
	looksApart = 50 * time.Millisecond
)

// Told takes the time at which a pass wants a look; zero: it wants none.
func (l *Looks) Told(at time.Time) { l.at = Earliest(l.at, at) }

// Begun notes that a look begins: it sees all jobs of which was told until now.
func (l *Looks) Begun() { l.at = time.Time{} }

// Over notes that a look is over, and when it wants the next one; zero: it wants none.
func (l *Looks) Over(now time.Time, took time.Duration, next time.Time) {
	l.from = now.Add(max(looksApart, looksShare*took))
	l.Told(next)
}

// At is when the next look is wanted; zero: none is.
func (l *Looks) At() time.Time {
	if l.at.IsZero() || l.at.After(l.from) {
		return l.at
	}
	return l.from
}
