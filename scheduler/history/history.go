// Package history counts what an instance did, by type and minute: what charts
// of a day are drawn from, and not from the queue. It keeps a minute until it is
// told that it is written. Values in, values out: time is an argument, and it
// has no lock.
package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/sketch"
)

// Counts are what was done.
type Counts struct {
	Taken       int64 `json:"taken"` // jobs claimed; one that is given back is taken once more
	Succeeded   int64 `json:"succeeded"`
	Failed      int64 `json:"failed"` // quarantined ones too
	Cancelled   int64 `json:"cancelled"`
	Retried     int64 `json:"retried"`      // attempts that are followed by another
	ItemsDone   int64 `json:"items_done"`   // of MSQ jobs
	ItemsFailed int64 `json:"items_failed"` // tries at items, really: one that fails is tried again
}

// Add counts others too.
func (c *Counts) Add(others Counts) {
	c.Taken += others.Taken
	c.Succeeded += others.Succeeded
	c.Failed += others.Failed
	c.Cancelled += others.Cancelled
	c.Retried += others.Retried
	c.ItemsDone += others.ItemsDone
	c.ItemsFailed += others.ItemsFailed
}

// Minute is what one instance did of one type within a minute.
type Minute struct {
	Type   scheduler.TypeName
	Minute time.Time // its begin
	Counts
	Wait, Run sketch.Sketch // of attempts: from when it could begin until it did, and from then to its end
}

type key struct {
	minute int64
	typ    scheduler.TypeName
}

// Book is what is counted and not written yet. The zero value is empty.
type Book struct {
	minutes map[key]*Minute
	now     int64 // the newest minute
	last    *Minute
	lastKey key
}

// most is how many minutes of types are kept while the database cannot be reached:
// a day of four types. What is older is forgotten first.
const most = 4 * 24 * 60

func (b *Book) at(typ scheduler.TypeName, now time.Time) *Minute {
	b.now = max(b.now, now.Unix()/60) // a clock that is set back must not change what is written
	k := key{b.now, typ}
	if b.last != nil && b.lastKey == k { // most are of the type of the one before
		return b.last
	}
	m := b.minutes[k]
	if m == nil {
		if b.minutes == nil {
			b.minutes = map[key]*Minute{}
		}
		if len(b.minutes) >= most {
			delete(b.minutes, b.keys()[0])
		}
		m = &Minute{Type: typ, Minute: time.Unix(k.minute*60, 0).UTC()}
		b.minutes[k] = m
	}
	b.last, b.lastKey = m, k
	return m
}

// Took counts what a claim brought.
func (b *Book) Took(jobs []scheduler.Job, now time.Time) {
	for i := range jobs {
		if o := jobs[i].Origin; o != nil {
			b.at(o.Type, now).Taken++
		}
	}
}

// Settled counts outcomes that are committed; stale are those that were not ours any more.
func (b *Book) Settled(records []scheduler.Record, stale []scheduler.Claim, now time.Time) {
	for i := range records {
		r := &records[i]
		o := r.Line().Origin
		if r.Kind != scheduler.RecordSettle || o == nil || len(stale) > 0 && slices.Contains(stale, r.Claim) {
			continue
		}
		m := b.at(o.Type, now)
		switch r.Verdict.State {
		case scheduler.Succeeded:
			m.Succeeded++
		case scheduler.Failed, scheduler.Quarantined:
			m.Failed++
		case scheduler.Cancelled:
			m.Cancelled++
		default:
			m.Retried++
		}
		if began := r.Result.Began; !began.IsZero() {
			m.Wait.Add(began.Sub(o.Due))
			m.Run.Add(r.Result.Ended.Sub(began))
		}
	}
}

// Ran counts items of MSQ jobs.
func (b *Book) Ran(items []scheduler.Result, now time.Time) {
	for i := range items {
		o := items[i].Line.Origin
		if o == nil || items[i].Line.Item == 0 {
			continue
		}
		if m := b.at(o.Type, now); items[i].Outcome == scheduler.OutcomeSucceeded {
			m.ItemsDone++
		} else {
			m.ItemsFailed++
		}
	}
}

// Due gives the minutes that are over, oldest first, or with all also the one
// that is not. They stay until Written is told that they are over.
func (b *Book) Due(now time.Time, all bool) []Minute {
	if len(b.minutes) == 0 {
		return nil
	}
	var due []Minute
	for _, k := range b.keys() {
		if m := b.minutes[k]; (all || k.minute < now.Unix()/60) && m.Counts != (Counts{}) {
			one := *m // it may go on while this is written
			one.Wait, one.Run = m.Wait.Clone(), m.Run.Clone()
			due = append(due, one)
		}
	}
	return due
}

// Written forgets minutes that are written and over: one that goes on is written again, whole.
func (b *Book) Written(minutes []Minute, now time.Time) {
	for _, m := range minutes {
		if k := (key{m.Minute.Unix() / 60, m.Type}); k.minute < now.Unix()/60 {
			delete(b.minutes, k)
		}
	}
	b.last = nil
}

func (b *Book) keys() []key {
	return slices.SortedFunc(maps.Keys(b.minutes), func(a, c key) int {
		return cmp.Or(cmp.Compare(a.minute, c.minute), cmp.Compare(a.typ, c.typ))
	})
}
