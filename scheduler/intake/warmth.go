package intake

import (
	"time"

	"bellhop/scheduler"
)

// A server runs a statement that it has run 2 ms ago in half the time of one that
// it ran 20 ms ago: what is cold is the statement's own memory, not the
// processor. So after a claim that brought something the same is claimed again,
// though nothing rang. A queue at rest costs nothing, and all instances together
// ask at most once each warmEvery.
const (
	warmFor   = 50 * time.Millisecond // behind the last claim that brought something
	warmEvery = 2 * time.Millisecond  // times the instances: each of them may have the next job
)

// warmth is what is kept warm: claims for a host's running children.
type warmth struct {
	host  scheduler.HostName
	until time.Time // zero: nothing is
	next  time.Time
}

// warmed notes a claim that is back.
func (in *Intake) warmed(m Claimed, now time.Time) {
	if !in.Warm || m.Failed || m.Claim.Probe || m.Claim.Demand.Locked || m.Claim.Demand.Assigned {
		return
	}
	w := &in.warmth
	if len(m.Jobs) > 0 {
		w.host, w.until = m.Claim.Demand.Host, now.Add(warmFor)
	}
	w.next = now.Add(warmEvery * time.Duration(max(1, in.control.Instances)))
}

// keepWarm claims once more, if it is time. nil: it is not, and Next is to be
// asked again then; zero: never.
func (in *Intake) keepWarm(can Can, now time.Time) (*Claim, time.Time) {
	w := &in.warmth
	c := in.capacities[w.host]
	switch {
	case c == nil || w.until.IsZero():
		return nil, time.Time{}
	case !w.next.Before(w.until) || !now.Before(w.until):
		w.until = time.Time{}
		return nil, time.Time{}
	case now.Before(w.next):
		return nil, w.next
	}
	empty := c.emptyAt
	c.emptyAt = nil // it is not asked for what there may be
	demand := in.demand(w.host, false, false, can)
	c.emptyAt = empty
	if len(demand.Types) == 0 { // all children are busy: the next offer brings us back
		return nil, time.Time{}
	}
	c.reserve(demand)
	return &Claim{Demand: demand, Epoch: c.epoch}, time.Time{}
}
