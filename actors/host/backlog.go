package host

import (
	"maps"
	"slices"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// onWaiting takes what waits for this host.
func (s *host) onWaiting(m *message.WaitingTypes, now time.Time) {
	s.charge(now)
	s.waiting, s.coming = s.age(m.Waiting, now), m.Coming
	s.yield(now)
}

// yield decides which children take no more lines.
func (s *host) yield(now time.Time) {
	children := make([]*childHandle, 0, len(s.children))
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		if child := s.children[name]; child.state.Live() {
			children = append(children, child)
		}
	}
	y := scheduler.Yield{Waiting: s.waiting, Could: map[scheduler.TypeName]int{}, Tenants: s.tenants(children, now),
		Stocks: s.stocks(false)}
	for _, pool := range s.pools {
		live, _ := pool.live()
		y.Could[pool.Name] = s.could(pool, live, now)
	}
	y.Fair = s.look(y.Could)
	if s.divided() {
		s.needRoom(&y)
	}
	y.Freed, y.Free = s.preemptingFor, max(0, s.spec.Slots-s.taken())
	heads, minReady := map[scheduler.TypeName]int{}, s.inst.setup().MinReady
	for _, w := range s.waiting {
		heads[w.Type] = w.Head
	}
	y.Keep = func(t scheduler.Tenant, whom scheduler.TypeName) time.Duration {
		if head, waits := heads[t.Type]; waits && head == heads[whom] { // it has had its turn
			return 0
		}
		return t.Keep(s.types[whom].start(), minReady)
	}
	to, made := y.Decide()
	changed := !slices.Equal(made, s.preemptingFor) || !maps.EqualFunc(y.Reserves, s.reserves, slices.Equal)
	s.preemptingFor, s.reserves = made, y.Reserves
	for i, child := range children {
		yields, kept := to[i] != "", time.Duration(0)
		if yields {
			kept = y.Keep(y.Tenants[i], to[i])
		}
		if yields && !child.draining {
			child.yieldsSince = now
		}
		changed = changed || child.draining != yields || child.keep != kept
		child.draining, child.keep = yields, kept
		s.tellKept(child, to[i])
	}
	if !changed {
		return
	}
	s.resyncSoon()
}

// needRoom tells what children of the types take, and leaves out the types for which there is room: the host was looked
// at for the sake of others.
func (s *host) needRoom(y *scheduler.Yield) {
	y.Takes = map[scheduler.TypeName]scheduler.Takes{}
	for _, pool := range s.pools {
		y.Takes[pool.Name] = pool.Takes
		if s.fit(pool) > 0 && !slices.Contains(s.preemptingFor, pool.Name) {
			y.Could[pool.Name] = 0
		}
	}
}

// tenants are children as those see them that wait for their slots.
func (s *host) tenants(children []*childHandle, now time.Time) []scheduler.Tenant {
	more := map[scheduler.TypeName]bool{}
	for _, w := range s.waiting {
		more[w.Type] = true
	}
	for _, t := range s.coming {
		more[t] = true
	}
	tenants := make([]scheduler.Tenant, len(children))
	for i, child := range children {
		coming := child.state == scheduler.Prep || child.state == scheduler.Spawned
		tenants[i] = scheduler.Tenant{
			Type:   child.pool.Name,
			Stays:  child.pool.Exec || child.leaving || coming,
			Exec:   child.pool.Exec,
			Coming: coming,
			Yields: child.draining,
			Slow:   child.draining && child.state == scheduler.Busy && now.Sub(child.yieldsSince) >= scheduler.SlowExit,
			Idle:   child.seat().Idle,
			More:   more[child.pool.Name],
			Start:  child.pool.start(),
			Takes:  child.has,
		}
	}
	return tenants
}

// age counts for how long types have waited of which no child is here.
func (s *host) age(waiting []scheduler.Backlog, now time.Time) []scheduler.Backlog {
	was := s.waits
	s.waits = map[scheduler.TypeName]time.Time{}
	for i, w := range waiting {
		pool := s.types[w.Type]
		if pool == nil {
			continue
		}
		if n, _ := pool.live(); n > 0 {
			continue
		}
		since, waits := was[w.Type]
		if !waits {
			since = now
		}
		s.waits[w.Type] = since
		waiting[i] = w.Aged(now.Sub(since), 3*max(s.inst.setup().MinReady, intake.BacklogAgain))
	}
	return waiting
}

// tellKept has a child publish until when it is kept from another type. It says
// so once, and only where the wait is long enough to be read.
func (s *host) tellKept(child *childHandle, from scheduler.TypeName) {
	k := kept{}
	if l := s.lodger(child); from != "" && l.Keep >= keptTold && l.State == scheduler.ChildReady {
		k.Kept = scheduler.Kept{From: from, Until: l.Until(), Most: l.Keep == s.inst.setup().MinReady}
	}
	if child.kept != k {
		child.kept = k
		s.inst.Send(child.pid, &k)
	}
}

// keptTold is the shortest time for which it is published that a child is kept.
const keptTold = time.Second
