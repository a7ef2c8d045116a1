package lasting

import (
	"slices"
	"sync"
	"sync/atomic"

	"bellhop/actors/port"
	"bellhop/scheduler"
)

// Quotas counts the children of each type over all hosts of this instance, and
// knows this instance's part of the type's max.
type Quotas struct{ types *sync.Map } // *typeQuota by scheduler.TypeName; none ever goes

type Quota struct {
	max         atomic.Int64 // 0: no limit
	part, Alive atomic.Int64
}

func NewQuotas(agents []port.AgentType) Quotas {
	c := Quotas{&sync.Map{}}
	for _, a := range agents {
		of := c.Of(a.Name)
		of.max.Store(int64(a.Max))
		of.part.Store(int64(a.Max))
	}
	return c
}

// Of is the quota of a type; of one that was not there before, without a limit.
func (c Quotas) Of(t scheduler.TypeName) *Quota {
	if of, known := c.types.Load(t); known {
		return of.(*Quota)
	}
	of, _ := c.types.LoadOrStore(t, &Quota{})
	return of.(*Quota)
}

// Reload takes other limits. What is this instance's part of a higher one, the
// next heartbeat says.
func (c Quotas) Reload(agents []port.AgentType) {
	for _, a := range agents {
		of, limit := c.Of(a.Name), int64(a.Max)
		if limit > 0 {
			of.part.Store(min(limit, of.part.Load()))
		}
		of.max.Store(limit)
	}
}

// Bounds are those of the instance.
func (t *Quota) Bounds() scheduler.Bounds {
	return scheduler.Bounds{Max: int(t.max.Load()), Part: int(t.part.Load()), All: int(t.Alive.Load()), Respawn: 1 << 20}
}

// Reservation is a place in the quotas that a host has taken for a child to come:
// counted at once, or several could be taken where there is one. It is the
// process's as soon as that is launched, and given back if it never is.
type Reservation struct{ Settled atomic.Bool }

func (t *Quota) Reserve() *Reservation { // nil: another host was quicker
	for {
		alive := t.Alive.Load()
		if t.max.Load() > 0 && alive >= t.part.Load() {
			return nil
		}
		if t.Alive.CompareAndSwap(alive, alive+1) {
			return &Reservation{}
		}
	}
}

func (t *Quota) Release(reservation *Reservation) {
	if reservation != nil && reservation.Settled.CompareAndSwap(false, true) {
		t.Alive.Add(-1)
	}
}

// Divide gives this instance its part of each type's max, among the live
// instances that serve the type. It reports whether anything changed.
func (c Quotas) Divide(me scheduler.InstanceID, others []scheduler.Suspect) (changed bool) {
	for key, value := range c.types.Range {
		t, of := key.(scheduler.TypeName), value.(*Quota)
		limit := int(of.max.Load())
		if limit == 0 {
			continue
		}
		rank, n := 0, 1
		for _, o := range others {
			if slices.Contains(o.Types, t) {
				n++
				if o.ID < me {
					rank++
				}
			}
		}
		part := int64(scheduler.Share(limit, rank, n))
		changed = of.part.Swap(part) != part || changed
	}
	return changed
}
