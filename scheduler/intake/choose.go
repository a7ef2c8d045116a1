package intake

import (
	"slices"

	"bellhop/scheduler"
)

// mildest is the least urgent priority.
const mildest = 19

// claimNext claims for the next host that can take jobs, in turn: first what running children can take, then, at
// its next turn, jobs for which children could come up. A type that is always busy does not delay others. An
// exclusive type gets one job. nil: there is nothing to ask for.
func (in *Intake) claimNext(exclusive bool, can Can) *Claim {
	names := in.hostNames()
	for range 2 * len(names) {
		in.lastTurn = (in.lastTurn + 1) % (2 * len(names))
		name, assigned := names[in.lastTurn/2], in.lastTurn%2 == 1
		demand := in.demand(name, assigned, exclusive, can)
		if exclusive {
			demand = one(demand)
		}
		if len(demand.Types) == 0 {
			continue
		}
		c := in.capacities[name]
		c.reserve(demand)
		if c.ranAt = in.ring; assigned {
			c.ranAt = 0
		}
		for _, t := range demand.Types {
			in.turn[t.Type]++
		}
		return &Claim{Demand: demand, Epoch: c.epoch}
	}
	return nil
}

// demand is what one claim for a host may fetch of every type that the queue may have jobs of: lines that running
// children can take, or jobs for which children can come up (assigned). exclusive: of exclusive types only, or of
// all others.
func (in *Intake) demand(name scheduler.HostName, assigned, exclusive bool, can Can) scheduler.Demand {
	c := in.capacities[name]
	// On a full host a child comes up in the place of an idle one: first that one takes what is as urgent.
	if assigned && c.full && c.ranAt != in.ring && len(in.demand(name, false, exclusive, can).Types) > 0 {
		return scheduler.Demand{}
	}
	demand := scheduler.Demand{Host: name, Localities: in.locality.named[name], Assigned: assigned, MSQ: true,
		Only: in.takes[name]}
	var saturated []scheduler.TypeDemand // types of which no other MSQ job may be opened
	for _, t := range in.Types {
		if in.excl.types[t] != exclusive || slices.Contains(in.Locked, t) || !in.mayHave(c, t, assigned, can) {
			continue
		}
		placed := assigned && in.readyElsewhere(name, t)
		if placed && len(demand.Localities) == 0 {
			continue
		}
		most, worst := in.most(c, t, assigned)
		if most <= 0 {
			continue
		}
		one := scheduler.TypeDemand{Type: t, Limit: most, MaxPriority: worst, Placed: placed}
		if assigned && c.claimants != nil { // one slot at a time, to the type whose turn it is
			one.Limit, one.Turn = 1, c.turn(t)
		}
		if in.mayOpen(name, t) {
			demand.Types = append(demand.Types, one)
		} else {
			saturated = append(saturated, one)
		}
	}
	if len(demand.Types) == 0 { // else these come after those, when the queue has nothing more for them
		demand.Types, demand.MSQ = saturated, false
	}
	for _, t := range demand.Types {
		demand.Total += t.Limit
	}
	demand.Readmitted, demand.Scans, demand.Ring = in.readmitted, in.scans, in.ring
	if !assigned && len(demand.Types) > 0 {
		demand.Preemptors = in.preemptors(name, exclusive, can)
	}
	c.bound(&demand)
	if assigned && c.claimants != nil {
		demand.Total = min(demand.Total, 1)
	}
	return demand
}

// mayHave reports whether the queue may have jobs of a type that a host takes, on running children, or (assigned)
// on children that come up.
func (in *Intake) mayHave(c *capacity, t scheduler.TypeName, assigned bool, can Can) bool {
	switch {
	case in.control.Pauses(t) || in.dormant(t, can) || c.emptyAt[t] == in.ring:
		return false
	case !assigned:
		return c.now[t] > 0 && c.outrankedAt[t] != in.ring
	case len(c.preemptingFor) > 0 && !slices.Contains(c.preemptingFor, t): // the room was made for others
		return false
	}
	return c.spawn[t] > 0
}

// most is how many jobs of a type a claim may fetch, and the worst priority
// among them: what MSQ jobs take, or go before, is left out.
func (in *Intake) most(c *capacity, t scheduler.TypeName, assigned bool) (most, worst int) {
	worst = mildest
	kept := 0 // for MSQ jobs that are about to take a slot
	for _, q := range in.msqs {
		if q.job.Type != t {
			continue
		}
		if q.opening {
			kept++
		} else if q.waiting > 0 {
			worst = min(worst, q.job.Priority)
		}
	}
	switch {
	case !assigned:
		return c.now[t] - kept, worst
	case c.now[t] > kept: // first what running children can take
		return 0, worst
	}
	return min(c.spawn[t], c.space(t)) - max(0, kept-c.now[t]), worst
}

// readyElsewhere reports whether another host has an idle child of the type. A
// job that may run anywhere goes there rather than starting a process here, even
// when that child's last claim came back empty: a job that arrives before its
// next claim is still cheaper to run there. A host that does not take every job
// is not waited for, nor one that may open no other query of the type: a query
// would find no host then.
func (in *Intake) readyElsewhere(name scheduler.HostName, t scheduler.TypeName) bool {
	for other, c := range in.capacities {
		if other != name && in.takes[other] == nil && c.now[t] > 0 && c.outrankedAt[t] != in.ring && in.mayOpen(other, t) {
			return true
		}
	}
	return false
}

// mayOpen reports whether a host may fetch another MSQ job of a type. Each
// holds a connection while its rows are read, so there is a bound; but jobs of
// one type on one host never keep the first of another from starting.
func (in *Intake) mayOpen(name scheduler.HostName, t scheduler.TypeName) bool {
	if len(in.msqs) < in.Cursors {
		return true
	}
	for _, q := range in.msqs {
		if q.job.Type == t && q.job.Host == name {
			return false
		}
	}
	return true
}

// learn notes of which types a claim has found that there is no more.
func (in *Intake) learn(demand scheduler.Demand, c *capacity, got map[scheduler.TypeName]int, brought int) {
	if demand.Assigned && brought > 0 && c.full { // what was more urgent than others may have begun
		clear(c.outrankedAt)
	}
	for _, t := range demand.Types {
		awaited := slices.Contains(c.preemptingFor, t.Type) || slices.Contains(c.keeping, t.Type)
		if demand.Assigned && got[t.Type] == 0 && awaited {
			if in.backlog.suspected == nil {
				in.backlog.suspected = map[scheduler.TypeName]bool{}
			}
			in.backlog.suspected[t.Type] = true
		}
		if got[t.Type] >= t.Limit || brought >= demand.Total {
			continue
		}
		// A short answer does not prove that nothing waits: the claim was capped for more urgent types.
		if len(demand.Preemptors) > 0 {
			c.outrankedAt[t.Type], in.backlog.cut = demand.Ring, true
		} else {
			c.emptyAt[t.Type] = demand.Ring
		}
	}
}
