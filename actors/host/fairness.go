package host

import (
	"time"

	"bellhop/scheduler"
)

// sharing is how types that wait for this host at once divide its slots.
type sharing struct {
	fair    scheduler.Fairness
	waiting []scheduler.Backlog  // what waited at the last look
	coming  []scheduler.TypeName // types of which an MSQ job has rows to come
	charged time.Time            // until when slots are on the types' accounts
}

// contended reports whether several types wait. A host of one slot takes jobs in their order.
func (s *host) contended() bool { return len(s.waiting) > 1 && s.spec.Slots > 1 }

// holds reports whether a child holds a slot that no other type can have before it is done.
func (child *childHandle) holds() bool {
	return child.state.Live() && !(child.pool.Exec && child.seat().Idle)
}

// charge puts the slots that children have held since the last time on their types' accounts, while something waits.
func (s *host) charge(now time.Time) {
	held := now.Sub(s.charged)
	s.charged = now
	if len(s.waiting) == 0 || s.spec.Slots == 1 {
		return
	}
	for _, pool := range s.pools {
		_, slots := pool.holding()
		s.fair.Serve(pool.Name, slots, held)
	}
}

// holding is how many children of a type hold slots, and how many.
func (pool *pool) holding() (n, slots int) {
	for _, child := range pool.children {
		if child.holds() {
			n, slots = n+1, slots+child.has.Slots()
		}
	}
	return n, slots
}

// look says what each type has and wants. nil: nothing is divided.
func (s *host) look(could map[scheduler.TypeName]int) *scheduler.Fairness {
	if s.spec.Slots == 1 {
		return nil
	}
	waits := map[scheduler.TypeName]bool{}
	for _, w := range s.waiting {
		waits[w.Type] = true
	}
	all, start := make([]scheduler.Contender, len(s.pools)), time.Duration(0)
	for i, pool := range s.pools {
		n, slots := pool.holding()
		all[i] = scheduler.Contender{Type: pool.Name, Weight: pool.Weight, Slots: slots, Waits: waits[pool.Name],
			More: could[pool.Name] > 0 || pool.Exec && n < len(pool.children)}
		if n > 0 || waits[pool.Name] {
			start = max(start, pool.start())
		}
	}
	s.fair.Look(all, scheduler.Quantum(start, s.inst.setup().MinReady))
	return &s.fair
}

// claimants is the order in which types get the next slots; nil: that of their jobs.
func (s *host) claimants(now time.Time) []scheduler.Claimant {
	if !s.contended() {
		return nil
	}
	s.charge(now)
	warm := map[scheduler.TypeName]bool{}
	for _, pool := range s.pools {
		warm[pool.Name] = !pool.Exec
	}
	return s.fair.Claimants(s.waiting, warm, func(t scheduler.TypeName) time.Duration {
		if pool := s.types[t]; pool != nil {
			return pool.lineTime
		}
		return 0
	})
}
