package actors

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// crowded tells a host what waits for it, and of which types an MSQ job that
// runs here has rows to come. From the dispatcher.
type crowded struct {
	Waiting []scheduler.Crowd
	Coming  []scheduler.TypeName
}

// onCrowded decides which children take no more lines.
func (s *host) onCrowded(m *crowded, now time.Time) {
	kids := make([]*kid, 0, len(s.kids))
	for _, name := range slices.Sorted(maps.Keys(s.kids)) {
		if k := s.kids[name]; k.state.Live() {
			kids = append(kids, k)
		}
	}
	more := map[scheduler.TypeName]bool{}
	for _, w := range m.Waiting {
		more[w.Type] = true
	}
	for _, t := range m.Coming {
		more[t] = true
	}
	tenants := make([]scheduler.Tenant, len(kids))
	for i, k := range kids {
		coming := k.state == scheduler.Prep || k.state == scheduler.Spawned
		tenants[i] = scheduler.Tenant{Type: k.kind.Name, Stays: k.kind.Exec || k.leaving || coming, Yields: k.yields, Idle: k.seat().Idle,
			More: more[k.kind.Name], Up: k.up, Gave: k.kind.gave}
	}
	could := map[scheduler.TypeName]int{}
	for _, kind := range s.kinds {
		live, _ := kind.live()
		could[kind.Name] = s.could(kind, live, now)
	}
	goes := func(t scheduler.Tenant, whom scheduler.TypeName) bool {
		return t.Spare(s.types[whom].gave, s.h.MinReady, now)
	}
	to, made := scheduler.Yield(tenants, s.age(m.Waiting, now), could, goes)
	changed := !slices.Equal(made, s.making)
	s.making = made
	for i, k := range kids {
		yields, spare := to[i] != "", false
		if yields {
			spare = goes(tenants[i], to[i])
		}
		changed = changed || k.yields != yields || k.spare != spare
		k.yields, k.spare = yields, spare
	}
	if !changed {
		return
	}
	s.resyncSoon()
}

// age counts for how long types have waited of which no child is here.
func (s *host) age(waiting []scheduler.Crowd, now time.Time) []scheduler.Crowd {
	was := s.waits
	s.waits = map[scheduler.TypeName]time.Time{}
	for i, w := range waiting {
		kind := s.types[w.Type]
		if kind == nil {
			continue
		}
		if n, _ := kind.live(); n > 0 {
			continue
		}
		since, waits := was[w.Type]
		if !waits {
			since = now
		}
		s.waits[w.Type] = since
		waiting[i] = w.Aged(now.Sub(since), 3*max(s.h.MinReady, intake.BacklogAgain))
	}
	return waiting
}
