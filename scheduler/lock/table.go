package lock

import "time"

// cell is an entry of the table: which constant counts.
type cell uint8

const (
	no          cell = iota
	degrade          // what is shared becomes a little more crowded
	heavy            // others will wait for what is taken exclusively
	maybe            // it may have to wait
	sure             // it will have to wait
	sureOrLess       // sure when the names meet, else degrade
	sureOrHeavy      // sure when the names meet, else heavy
)

// table says how much a pending job at one level (row) suffers from a running
// one (column). From Ganeti design-predictive-queue, cell by cell.
var table = [kinds][kinds]cell{
	// The columns: None, Shared, UnknownShared, AllShared, Exclusive, UnknownExclusive, AllExclusive.
	KindNone:             {no, no, no, no, no, no, no},
	KindShared:           {degrade, no, no, no, sureOrLess, maybe, sure},
	KindUnknownShared:    {degrade, degrade, degrade, degrade, maybe, maybe, sure},
	KindAllShared:        {degrade, degrade, degrade, degrade, sure, sure, sure},
	KindExclusive:        {heavy, sureOrHeavy, maybe, sure, sureOrHeavy, maybe, sure},
	KindUnknownExclusive: {heavy, maybe, maybe, sure, maybe, maybe, sure},
	KindAllExclusive:     {heavy, sure, sure, sure, sure, sure, sure},
}

// Constants are the numbers of the policy. Weights have no unit.
type Constants struct {
	Degrade, HeavyDegrade, MaybeBlock, SureBlock, Base float64

	Tick         time.Duration // what ageing counts in
	AgeingTicks  int           // after so many a job weighs nothing, and is reserved for; 0: never
	PriorityTick time.Duration // waiting as long betters the priority by one; 0: never
}

// GanetiConstants are those of Ganeti design-predictive-queue; PriorityTick is
// how long Ganeti's jobs wait for a lock before they become more urgent.
var GanetiConstants = Constants{
	Degrade: 0.3, HeavyDegrade: 0.5, MaybeBlock: 1.5, SureBlock: 3, Base: 1,
	Tick: 30 * time.Second, AgeingTicks: 30, PriorityTick: 30 * time.Minute,
}

// of is what a cell weighs; meet says that the two jobs name the same lock.
func (c Constants) of(entry cell, meet bool) float64 {
	switch entry {
	case degrade:
		return c.Degrade
	case heavy:
		return c.HeavyDegrade
	case maybe:
		return c.MaybeBlock
	case sure:
		return c.SureBlock
	case sureOrLess:
		if meet {
			return c.SureBlock
		}
		return c.Degrade
	case sureOrHeavy:
		if meet {
			return c.SureBlock
		}
		return c.HeavyDegrade
	}
	return 0
}

// Contention is the table for two values of one level. A value made of several
// kinds has the greatest of their entries, so that the name which a merge of
// Ganeti's would have forgotten counts too.
func (c Constants) Contention(pending, running Value) float64 {
	most := 0.0
	mine, theirs := pending.kinds(), running.kinds()
	for row := range Kind(kinds) {
		for column := range Kind(kinds) {
			if mine&(1<<row) == 0 || theirs&(1<<column) == 0 {
				continue
			}
			entry := table[row][column]
			meet := (entry == sureOrLess || entry == sureOrHeavy) && meets(pending.Names, row, running.Names, column)
			most = max(most, c.of(entry, meet))
		}
	}
	return most
}

// meets reports whether a name that one wants in the mode of a kind is wanted by
// the other in the mode of another kind.
func meets(a []NameMode, ka Kind, b []NameMode, kb Kind) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Name < b[0].Name:
			a = a[1:]
		case b[0].Name < a[0].Name:
			b = b[1:]
		case kindOf(Named, a[0].Mode) == ka && kindOf(Named, b[0].Mode) == kb:
			return true
		default:
			a, b = a[1:], b[1:]
		}
	}
	return false
}
