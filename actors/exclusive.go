package actors

import (
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// waitsAlone is why such a job waits.
const waitsAlone = "exclusive: waits until nothing else runs"

// exclusion sees to it that a job of an exclusive type is alone on this
// instance. It starts when nothing else runs. Others start freely meanwhile; but
// when the instance has been at work for ExclusiveAfter without a pause, the
// next safety scan asks whether one waits, and as long as one does, nothing else
// starts. It is asked again at every scan, so that one that was cancelled holds
// nobody up.
type exclusion struct {
	after    time.Duration
	types    map[scheduler.TypeName]bool
	shut     bool                        // one of them runs; or what runs is not known
	draining bool                        // one waits, and has for long enough
	told     bool                        // others know that
	ask      map[scheduler.TypeName]bool // of these find out whether one waits
	found    bool                        // of those asked since the last scan one does
	busy     time.Time                   // since when something has been running without a pause
}

func newExclusion(agents []AgentType, after time.Duration) exclusion {
	x := exclusion{after: after, shut: true} // another dispatcher before us may have started one
	for _, a := range agents {
		if a.Exclusive {
			if x.types == nil {
				x.types = map[scheduler.TypeName]bool{}
			}
			x.types[a.Name] = true
		}
	}
	return x
}

// may says what may start now: a job of an exclusive type, and others.
func (x *exclusion) may(running int, now time.Time) (exclusive, others bool) {
	if len(x.types) == 0 {
		return false, true
	}
	if running == 0 {
		x.shut, x.busy = false, time.Time{}
		return true, !x.draining
	}
	if x.busy.IsZero() {
		x.busy = now
	}
	return false, !x.shut && !x.draining
}

// scan begins to ask anew, if it is time for that.
func (x *exclusion) scan(now time.Time) {
	if x.draining || !x.busy.IsZero() && now.Sub(x.busy) >= x.after {
		x.ask, x.found = maps.Clone(x.types), false
	}
}

// asked takes the answer to whether a job of a type waits.
func (x *exclusion) asked(t scheduler.TypeName, waits bool) {
	x.found = x.found || waits
	x.draining = x.draining || waits
	if delete(x.ask, t); len(x.ask) == 0 {
		x.draining = x.found
	}
}

// started: one was claimed, to be started.
func (x *exclusion) started() { x.shut, x.draining, x.ask = true, false, nil }

// tellDraining tells others that nothing else starts here because of one that waits, and when that is over.
func (d *dispatcher) tellDraining() {
	if d.alone.draining == d.alone.told {
		return
	}
	d.alone.told = d.alone.draining
	m := &draining{}
	if d.alone.draining {
		m.since = time.Now()
	}
	d.h.tell(roleMembership, m)
}

// one cuts a demand down to one job of one type: two of exclusive types must
// not meet either.
func one(demand scheduler.Demand) scheduler.Demand {
	if len(demand.Types) > 0 {
		t := demand.Types[0]
		t.Most = 1
		demand.Types, demand.Total = []scheduler.TypeDemand{t}, 1
	}
	return demand
}

// peekNext asks whether a job of the next exclusive type waits: it is claimed,
// whoever has room for it, and given back.
func (d *dispatcher) peekNext(c actor.Context) bool {
	for _, t := range slices.Sorted(maps.Keys(d.alone.ask)) {
		demand := scheduler.Demand{Types: []scheduler.TypeDemand{{Type: t, Most: 1, Worst: 19}}, Assigned: true, Total: 1, MSQ: true}
		for _, name := range slices.Sorted(maps.Keys(d.hosts)) {
			demand.Host = name
			demand.Answers = append(demand.Answers, d.places.named[name]...)
		}
		if demand.Host != "" {
			d.send(c, &claimed{demand: demand, peek: true})
			return true
		}
	}
	return false
}

// onPeeked gives back what was only to be looked at.
func (d *dispatcher) onPeeked(m *claimed) {
	if m.err == nil {
		d.alone.asked(m.demand.Types[0].Type, len(m.jobs) > 0)
	}
	for _, j := range m.jobs {
		if _, here := d.running[j.Claim.Job]; !here {
			d.running[j.Claim.Job] = scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: m.demand.Host}
		}
		d.h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim, Attempt: j.Attempt, Why: waitsAlone})
	}
}
