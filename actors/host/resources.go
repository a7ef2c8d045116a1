package host

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

// resources is what the host knows of those that it has besides slots.
type resources struct {
	names    []string            // of what it has
	reserves scheduler.Reserves  // what becomes free is for these
	free     scheduler.Resources // what the dispatcher has been told: that is free, and that types lack some of it
	lacking  []scheduler.TypeName
}

// taken is how many slots children hold.
func (s *host) taken() int { return s.held("") }

// held is how much children hold of a resource; without a name: of slots.
func (s *host) held(name string) (n int) {
	for _, pool := range s.pools {
		for _, child := range pool.children {
			if child.state.Live() {
				n += child.has.Amount(name)
			}
		}
	}
	return n
}

// all is how much the host has of it.
func (s *host) all(name string) int {
	if name == "" {
		return s.spec.Slots
	}
	return s.spec.Has[name]
}

// fit is how many children of a type have room beside those that live.
func (s *host) fit(pool *pool) int {
	var left scheduler.Resources
	if len(pool.Takes.Of) > 0 {
		left = make(scheduler.Resources, len(s.names))
		for _, name := range s.names {
			left[name] = s.all(name) - s.held(name)
		}
	}
	return pool.Takes.Within(s.spec.Slots-s.taken(), left)
}

// lacks names a resource of which too little is left for a child of a type; without a name: of slots.
func (s *host) lacks(pool *pool) string {
	for _, name := range s.names {
		if each := pool.Takes.Of[name]; each > 0 && s.held(name)+each > s.all(name) {
			return name
		}
	}
	return ""
}

// stocks is what the host has besides slots. by: and whose the taken part is.
func (s *host) stocks(by bool) (list []scheduler.Stock) {
	for _, name := range s.names {
		stock := scheduler.Stock{Name: name, All: s.all(name), Taken: s.held(name)}
		for _, pool := range s.pools {
			for _, child := range pool.children {
				if n := child.has.Of[name]; by && n > 0 && child.state.Live() {
					if stock.By == nil {
						stock.By = map[scheduler.TypeName]int{}
					}
					stock.By[pool.Name] += n
				}
			}
		}
		list = append(list, stock)
	}
	return list
}

// divided reports whether children take more of the host than a slot each: then a type may wait while slots are free.
func (s *host) divided() bool {
	return slices.ContainsFunc(s.pools, func(pool *pool) bool { return !pool.Takes.Plain() })
}

// named bounds what types may ask for by what is free besides slots. It reports whether the dispatcher has to be told.
func (s *host) named(now time.Time) (changed bool) {
	if len(s.names) == 0 && len(s.reserves) == 0 {
		return false
	}
	stocks, free := s.stocks(false), scheduler.Resources{}
	var lacking []scheduler.TypeName
	may := make([]int, len(stocks)) // what the children of the type at hand hold that may go
	for i := range stocks {
		stock := &stocks[i]
		for _, pool := range s.pools {
			stock.Short += pool.capacity.Short() * pool.Takes.Of[stock.Name]
			stock.Freeable += s.freeable(pool, stock.Name, now)
		}
		free[stock.Name] = stock.Ask(0)
	}
	for _, pool := range s.pools {
		if whom, _ := s.reserves.For(pool.Name, pool.Takes); whom != "" {
			pool.spawn = 0
			continue
		}
		own := pool.capacity.anybodys
		most := pool.spawn - own
		for i := range stocks {
			if each := pool.Takes.Of[stocks[i].Name]; each > 0 {
				may[i] = s.freeable(pool, stocks[i].Name, now)
				most = min(most, stocks[i].Ask(may[i])/each)
			}
		}
		if most < pool.spawn-own && most == 0 {
			lacking = append(lacking, pool.Name)
		}
		pool.spawn = most + own
	}
	changed = !maps.Equal(free, s.free) || !slices.Equal(lacking, s.lacking)
	s.free, s.lacking = free, lacking
	return changed
}

// freeable is how much of a resource children of a type hold that may go to make room.
func (s *host) freeable(pool *pool, name string, now time.Time) (n int) {
	if !s.shared() {
		return 0
	}
	for _, child := range pool.children {
		if each := child.has.Of[name]; each > 0 && s.lodger(child).Freeable(now) {
			n += each
		}
	}
	return n
}

// keeping are the types for which something that becomes free is reserved.
func (s *host) keeping() (list []scheduler.TypeName) {
	for _, name := range slices.Sorted(maps.Keys(s.reserves)) {
		may := s.reserves[name]
		list = append(list, may[len(may)-1])
	}
	return list
}

// given: a job came for a child that is to come up. What was reserved for its type is for others again.
func (s *host) given(pool *pool) {
	maps.DeleteFunc(s.reserves, func(_ string, may []scheduler.TypeName) bool { return may[len(may)-1] == pool.Name })
}
