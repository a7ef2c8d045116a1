package intake

import (
	"slices"

	"bellhop/scheduler"
)

// Books are what an audit compares: what the database says this instance holds,
// what hosts, children and MSQ jobs say they hold, and what is owed to the
// database. They are exact when they are read in this order, each while no claim
// is under way: the database; then every actor that may have been given work
// before that, each of which owes an outcome before it forgets the work; then
// the orphans; then what is owed. What was written in between is in Settled.
type Books struct {
	Database []scheduler.Hold
	Held     map[scheduler.Claim]bool // an actor says that it holds it
	Open     map[scheduler.Claim]bool // MSQ jobs that an actor answers for
	Items    map[scheduler.Claim]bool // MSQ jobs of which a child or a host has items
	Settled  map[scheduler.Claim]bool // written since the database was read
	Orphans  map[scheduler.Claim]bool // in processes whose actor has died
	Owed     map[scheduler.Claim]bool
	Running  map[scheduler.JobID]scheduler.Hold // what the dispatcher knows
}

// NewBooks makes empty ones.
func NewBooks() Books {
	return Books{Held: map[scheduler.Claim]bool{}, Open: map[scheduler.Claim]bool{}, Items: map[scheduler.Claim]bool{},
		Settled: map[scheduler.Claim]bool{}}
}

// Findings are what follows from books.
type Findings struct {
	Learn []scheduler.Hold // ours, and not known to be
	Lost  []scheduler.Hold // no actor works on it: it goes back
	// No actor answers for it, but something of it runs: it goes back when that has ended.
	Unowned []scheduler.Claim
	Forget  []scheduler.JobID // settled, and the news of it was lost
	MSQs    []scheduler.Claim // that run here
}

// Reconcile compares books. Of Running it changes nothing.
func Reconcile(b Books) (f Findings) {
	ours := make(map[scheduler.JobID]bool, len(b.Database))
	var learnt map[scheduler.JobID]scheduler.Hold
	for _, hold := range b.Database {
		claim := hold.Claim
		if b.Settled[claim] {
			continue
		}
		ours[claim.Job] = true
		if _, known := b.Running[claim.Job]; !known {
			f.Learn = append(f.Learn, hold)
			if learnt == nil {
				learnt = map[scheduler.JobID]scheduler.Hold{}
			}
			learnt[claim.Job] = hold
		}
		switch {
		case b.Held[claim] || b.Owed[claim]:
		case b.Items[claim] || b.Orphans[claim]:
			f.Unowned = append(f.Unowned, claim)
		default:
			f.Lost = append(f.Lost, hold)
		}
	}
	for id, hold := range b.Running {
		if !ours[id] && !b.Held[hold.Claim] && !b.Owed[hold.Claim] && !b.Orphans[hold.Claim] {
			f.Forget = append(f.Forget, id)
		}
	}
	slices.Sort(f.Forget)
	for claim := range b.Open {
		hold, known := b.Running[claim.Job]
		if !known {
			hold = learnt[claim.Job]
		}
		if hold.Claim == claim && !slices.Contains(f.Forget, claim.Job) {
			f.MSQs = append(f.MSQs, claim)
		}
	}
	slices.SortFunc(f.MSQs, func(a, b scheduler.Claim) int { return int(a.Job - b.Job) })
	return f
}
