package intake

import (
	"slices"
	"time"

	"bellhop/scheduler"
)

// passes is when to look at jobs with locks: in passes, which are claims that
// all instances make in turn. While no job has ever asked for a lock, it costs
// nothing.
type passes struct {
	wanted bool   // there are jobs with locks, or have been a moment ago
	none   int    // how often maintenance has found none since one came
	reason uint64 // grows with every reason for a pass
	// The reason after which a pass for a host, for running children or (assigned) for children that come up, found no
	// more.
	done map[passFor]uint64
	// The reason after which locks were handed on, with or without a job for us.
	handed uint64
	last   bool // the last claim was a pass: the other jobs' turn is next
	turn   int  // which host and kind comes next
}

// passFor names the credits that a pass is made with.
type passFor struct {
	host     scheduler.HostName
	assigned bool
}

// LocksWoken: a job with locks came, or what one held is free.
type LocksWoken struct{}

func (LocksWoken) apply(in *Intake, _ time.Time, _ *Step) {
	in.passes.wanted, in.passes.none = true, 0
	in.passes.reason++
}

// found is what maintenance finds: whether a job with locks waits, or holds some.
// One that came while it looked it may not have seen: the second look counts.
func (p *passes) found(some bool) {
	switch {
	case some && !p.wanted:
		p.wanted, p.none = true, 0
		p.reason++
	case some:
		p.none = 0
	default:
		p.none++
		p.wanted = p.wanted && p.none < 2
	}
}

// again: jobs with locks may have become ready, too.
func (p *passes) again() { p.reason++ }

// pass asks for a pass: for the next host that can take something, in turn, or
// for none, so that other instances get what has become free. nil: there is no
// reason for one.
func (in *Intake) pass(exclusive bool, can Can) *Claim {
	p := &in.passes
	if !p.wanted {
		return nil
	}
	names := in.hostNames()
	for range 2 * len(names) {
		p.turn = (p.turn + 1) % (2 * len(names))
		who := passFor{names[p.turn/2], p.turn%2 == 1}
		if p.done[who] == p.reason {
			continue
		}
		demand := in.passDemand(who, exclusive, can)
		if exclusive {
			demand = one(demand)
		}
		if len(demand.Types) == 0 {
			continue
		}
		c := in.capacities[who.host]
		c.reserve(demand)
		p.handed = p.reason
		return &Claim{Demand: demand, Epoch: c.epoch}
	}
	if p.handed == p.reason || exclusive || len(names) == 0 {
		return nil
	}
	p.handed = p.reason
	return &Claim{
		Demand: scheduler.Demand{Host: names[0], Locked: true, Ring: p.reason},
		Epoch:  in.capacities[names[0]].epoch,
	}
}

// claimOf asks for a claim, or for a pass: by turns, so that neither jobs with
// locks nor those without keep the others from their slots.
func (in *Intake) claimOf(exclusive bool, can Can) *Claim {
	first, second := in.pass, in.claimNext
	if in.passes.last {
		first, second = second, first
	}
	claim := first(exclusive, can)
	if claim == nil {
		claim = second(exclusive, can)
	}
	if claim != nil {
		in.passes.last = claim.Demand.Locked
	}
	return claim
}

// passDemand is what a pass may fetch of every type: it knows nothing of which
// types the queue has jobs, since that is said of jobs without locks.
func (in *Intake) passDemand(who passFor, exclusive bool, can Can) scheduler.Demand {
	c := in.capacities[who.host]
	demand := scheduler.Demand{Host: who.host, Localities: in.locality.named[who.host], Assigned: who.assigned,
		MSQ: len(in.msqs) < in.Cursors, Only: in.takes[who.host], Locked: true, Ring: in.passes.reason}
	for _, t := range in.Types {
		if in.excl.types[t] != exclusive || in.control.Pauses(t) || in.dormant(t, can) {
			continue
		}
		if who.assigned && len(c.preemptingFor) > 0 && !slices.Contains(c.preemptingFor, t) { // the room was made for others
			continue
		}
		placed := who.assigned && in.readyElsewhere(who.host, t)
		if placed && len(demand.Localities) == 0 {
			continue
		}
		if most, worst := in.most(c, t, who.assigned); most > 0 && (!who.assigned || c.spawn[t] > 0) {
			demand.Types = append(demand.Types, scheduler.TypeDemand{Type: t, Limit: most, MaxPriority: worst, Placed: placed})
			demand.Total += most
		}
	}
	c.bound(&demand)
	return demand
}

// learn notes that a pass found less than it could have had.
func (p *passes) learn(demand scheduler.Demand, brought int) {
	if brought >= demand.Total && demand.Total > 0 {
		return
	}
	if p.done == nil {
		p.done = map[passFor]uint64{}
	}
	p.done[passFor{demand.Host, demand.Assigned}] = demand.Ring
}
