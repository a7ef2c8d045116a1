package page

import (
	"cmp"
	"slices"

	"bellhop/sql/view"
)

// locksMost is how many of the jobs that wait behind each lock a page shows.
const locksMost = 20

type locksData struct {
	Locks []heldLock
	Next  []view.LockRow // the next pass looks at them
}

// heldLock is a lock, its holders, and the jobs that wait behind it, in order.
type heldLock struct {
	Level, Name string
	Holders     []view.LockRow
	Waiters     []view.LockRow
}

func locks(r *request) (content, error) {
	rows, err := r.Look.Locks(r, locksMost)
	if err != nil {
		return content{}, err
	}
	var d locksData
	at := map[[2]string]int{}
	for _, l := range rows {
		if l.What == "next" {
			d.Next = append(d.Next, l)
			continue
		}
		k := [2]string{l.Level, l.Name}
		i, ok := at[k]
		if !ok {
			i = len(d.Locks)
			at[k] = i
			d.Locks = append(d.Locks, heldLock{Level: l.Level, Name: l.Name})
		}
		if l.What == "holds" {
			d.Locks[i].Holders = append(d.Locks[i].Holders, l)
		} else {
			d.Locks[i].Waiters = append(d.Locks[i].Waiters, l)
		}
	}
	slices.SortStableFunc(d.Locks, func(a, b heldLock) int { // where most wait first
		return cmp.Or(
			cmp.Compare(len(b.Waiters), len(a.Waiters)),
			cmp.Compare(a.Level, b.Level),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return content{Title: "Locks", Template: "locks", Data: d}, nil
}
