package view

import (
	"cmp"
	"context"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/sql"
)

// How many rows of the queue the last hour of shares reads: so many take 0.1 s of a processor. The few tell whether a
// job has a share at all.
const (
	shareHourRows = 50_000
	shareHourPeek = 1_000
)

var lookShareHourSQL = sql.Query("look_share_hour")

// ShareHour is the last hour of a key: its jobs that started then.
type ShareHour struct {
	Starts  int64   `json:"starts"`       // a job that was tried again counts once, for its newest start
	Seconds float64 `json:"slot_seconds"` // of a slot, since those starts
	Part    float64 `json:"part"`         // of the starts of the type, jobs without a share among them
	Due     float64 `json:"due"`          // the part that its weight gives, among the keys that had work
	Whole   bool    `json:"complete"`     // false: more rows may tell of that hour than are read
}

type startedKey struct {
	Type    scheduler.TypeName
	Name    string
	Starts  int64
	Seconds float64
	Weight  float32
	Whole   bool
}

// withHour adds the last hour to keys, and the keys that had starts then and have no work now.
func (l Look) withHour(ctx context.Context, of *string, keys []ShareRow) ([]ShareRow, error) {
	since := time.Now().Add(-time.Hour)
	read := func(most int) ([]startedKey, error) {
		rows, err := collect[startedKey](ctx, l.db, "count the starts of keys", lookShareHourSQL, of, most, since)
		if denied(err) { // a submitter sees no keys
			return nil, nil
		}
		return rows, err
	}
	if len(keys) == 0 {
		if few, err := read(shareHourPeek); err != nil || len(few) == 0 {
			return keys, err
		}
	}
	rows, err := read(shareHourRows)
	return hours(keys, rows), err
}

// hours gives keys their last hour. Values in, rows out.
func hours(keys []ShareRow, rows []startedKey) []ShareRow {
	type key struct {
		of   scheduler.TypeName
		name string
	}
	at := map[key]int{}
	for n, k := range keys {
		at[key{k.Type, k.Name}] = n
	}
	starts, weights, whole := map[scheduler.TypeName]int64{}, map[scheduler.TypeName]float64{}, true
	for _, r := range rows {
		starts[r.Type] += r.Starts
		whole = whole && r.Whole
		if r.Name == "" {
			weights[r.Type]++ // the jobs without a share are one key
			continue
		}
		n, ok := at[key{r.Type, r.Name}]
		if !ok {
			n = len(keys)
			keys = append(keys, ShareRow{Type: r.Type, Name: r.Name, Weight: r.Weight})
		}
		keys[n].Hour = ShareHour{Starts: r.Starts, Seconds: r.Seconds}
	}
	for _, k := range keys {
		if k.busy() {
			weights[k.Type] += float64(k.Weight)
		}
	}
	for n := range keys {
		k := &keys[n]
		k.Hour.Whole = whole
		if all := starts[k.Type]; all > 0 {
			k.Hour.Part = float64(k.Hour.Starts) / float64(all)
		}
		if k.busy() {
			k.Hour.Due = float64(k.Weight) / weights[k.Type]
		}
	}
	slices.SortStableFunc(keys, func(a, b ShareRow) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// busy reports whether a key has work, or had a start in the last hour.
func (r ShareRow) busy() bool { return r.Waiting > 0 || r.Running > 0 || r.Hour.Starts > 0 }
