package page

import (
	"cmp"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// keysShown is how many keys of shares the page of a type lists.
const keysShown = 20

// typeKeys are the keys of a type that has shares.
type typeKeys struct {
	Keys []view.ShareRow
	More int  // keys that are not listed
	Some bool // not all starts of the last hour are counted
}

// KeyPart is the part that a key had of the starts of the last hour, KeyDue the part that its weight gives.
func (d typeKeys) KeyPart(k view.ShareRow) string { return partOrNone(k.Hour.Part) }
func (d typeKeys) KeyDue(k view.ShareRow) string  { return partOrNone(k.Hour.Due) }

// KeyTime is how long the starts of the last hour have held slots.
func (d typeKeys) KeyTime(k view.ShareRow) time.Duration {
	return time.Duration(k.Hour.Seconds * float64(time.Second))
}

// partOrNone is a part in words; empty: none.
func partOrNone(part float64) string {
	if part == 0 {
		return ""
	}
	return words.Percent(part)
}

// keysOf reads the keys of a type. It is asked for the type alone, and kept for a while: each key's jobs are counted.
func keysOf(r *request, name scheduler.TypeName) (typeKeys, error) {
	return remembered(r.pages, r.who.Role, "keys of "+string(name), 20*time.Second, func() (typeKeys, error) {
		of := string(name)
		rows, err := r.Look.Shares(r, &of)
		return firstKeys(rows), err
	})
}

// firstKeys lists the keys with the most running jobs first, then those with the most that wait, then those with the
// most starts in the last hour. Values in, rows out.
func firstKeys(rows []view.ShareRow) typeKeys {
	slices.SortStableFunc(rows, func(a, b view.ShareRow) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(b.Waiting, a.Waiting),
			cmp.Compare(b.Hour.Starts, a.Hour.Starts), cmp.Compare(b.Started, a.Started))
	})
	shown := min(len(rows), keysShown)
	return typeKeys{Keys: slices.Clone(rows[:shown]), More: len(rows) - shown,
		Some: slices.ContainsFunc(rows, func(k view.ShareRow) bool { return !k.Hour.Whole })}
}
