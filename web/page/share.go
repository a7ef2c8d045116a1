package page

import (
	"cmp"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// keysShown is how many keys of shares the page of a type lists.
const keysShown = 20

// typeKeys are the keys of a type that has shares.
type typeKeys struct {
	Keys []view.ShareRow
	More int // keys that are not listed
}

// keysOf reads the keys of a type. It is asked for the type alone, and kept for a while: each key's jobs are counted.
func keysOf(r *request, name scheduler.TypeName) (typeKeys, error) {
	return remembered(r.pages, r.who.Role, "keys of "+string(name), 10*time.Second, func() (typeKeys, error) {
		of := string(name)
		rows, err := r.Look.Shares(r, &of)
		return firstKeys(rows), err
	})
}

// firstKeys lists the keys with the most running jobs first, then those with the most that wait. Values in, rows out.
func firstKeys(rows []view.ShareRow) typeKeys {
	slices.SortStableFunc(rows, func(a, b view.ShareRow) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Started, a.Started))
	})
	shown := min(len(rows), keysShown)
	return typeKeys{Keys: slices.Clone(rows[:shown]), More: len(rows) - shown}
}
