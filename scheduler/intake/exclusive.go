package intake

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

// exclusion sees to it that a job of an exclusive type is alone on this instance. It starts when no other job runs.
// Until then others start freely. Once the instance has been at work for Config.ExclusiveAfter without a pause, the
// next safety scan asks whether an exclusive job waits; while one does, nothing else starts. Every scan asks again,
// so that a cancelled job holds no other up.
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

func newExclusion(types []scheduler.TypeName, after time.Duration) exclusion {
	x := exclusion{after: after, shut: true} // another dispatcher before us may have started one
	for _, t := range types {
		if x.types == nil {
			x.types = map[scheduler.TypeName]bool{}
		}
		x.types[t] = true
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

// one cuts a demand down to one job of one type: two of exclusive types must
// not meet either.
func one(demand scheduler.Demand) scheduler.Demand {
	if len(demand.Types) > 0 {
		t := demand.Types[0]
		t.Limit = 1
		demand.Types, demand.Total = []scheduler.TypeDemand{t}, 1
	}
	return demand
}

// probeNext asks whether a job of the next exclusive type waits: it is claimed for any host that has room, and
// given back.
func (in *Intake) probeNext() *Claim {
	for _, t := range slices.Sorted(maps.Keys(in.excl.ask)) {
		demand := scheduler.Demand{Types: []scheduler.TypeDemand{{Type: t, Limit: 1, MaxPriority: mildest}},
			Assigned: true, Total: 1, MSQ: true}
		for _, name := range in.hostNames() {
			demand.Host = name
			demand.Localities = append(demand.Localities, in.locality.named[name]...)
		}
		if demand.Host != "" {
			return &Claim{Demand: demand, Probe: true}
		}
	}
	return nil
}
