package intake

import (
	"maps"
	"slices"

	"bellhop/scheduler"
)

// space is how many children of a type have room in the credits.
func (c *capacity) space(t scheduler.TypeName) int {
	if takes := c.takes[t]; !takes.Plain() {
		return takes.Within(c.room, c.free)
	}
	return c.room
}

// cost is how many slots a claim may fill at most.
func (c *capacity) cost(demand scheduler.Demand) int {
	if len(c.takes) == 0 {
		return demand.Total
	}
	most, all := 1, 0
	for _, t := range demand.Types {
		slots := c.takes[t.Type].Slots()
		most, all = max(most, slots), all+t.Limit*slots
	}
	return min(demand.Total*most, max(all, demand.Total))
}

// use takes what n children of a type hold besides slots.
func (c *capacity) use(t scheduler.TypeName, n int) {
	takes := c.takes[t]
	if c.free == nil { // nothing is told yet
		return
	}
	for name, each := range takes.Of {
		c.free[name] -= n * each
	}
}

// bound sees to it that a claim for children that come up brings no more than the credits allow. If several types could
// take more together of a resource than there is, one job at a time is claimed, the first in the order of all of them.
// Types that take a slot and nothing else do not wait for that: they are claimed by turns, many at once, except where
// only one slot is left.
func (c *capacity) bound(demand *scheduler.Demand) {
	if !demand.Assigned {
		return
	}
	demand.Total = min(demand.Total, c.room)
	if len(c.takes) == 0 || demand.Total <= 1 || c.enough(demand.Types) {
		return
	}
	plain := func(t scheduler.TypeDemand) bool { return c.takes[t.Type].Plain() }
	if c.plainNext && c.claimants == nil && slices.ContainsFunc(demand.Types, plain) {
		demand.Types = slices.DeleteFunc(demand.Types, func(t scheduler.TypeDemand) bool { return !plain(t) })
		demand.Total = 0
		for _, t := range demand.Types {
			demand.Total += t.Limit
		}
		demand.Total = min(demand.Total, c.room)
		return
	}
	if c.claimants == nil && slices.ContainsFunc(demand.Types, plain) {
		demand.Types = slices.DeleteFunc(demand.Types, plain)
	}
	if len(demand.Types) == 1 {
		demand.Total = min(demand.Total, demand.Types[0].Limit)
		return
	}
	for i := range demand.Types {
		demand.Types[i].Limit = 1
	}
	demand.Total = 1
}

// enough reports that all that may be claimed has room together, slots of types that take one aside.
func (c *capacity) enough(types []scheduler.TypeDemand) bool {
	var need scheduler.Resources
	slots, several := 0, false
	for _, t := range types {
		takes := c.takes[t.Type]
		slots += t.Limit * takes.Slots()
		several = several || takes.Slots() > 1
		for name, each := range takes.Of {
			if need == nil {
				need = scheduler.Resources{}
			}
			need[name] += t.Limit * each
		}
	}
	if several && slots > c.room {
		return false
	}
	for name, n := range need {
		if n > c.free[name] {
			return false
		}
	}
	return true
}

// lacking are the types of which a child could come up on a host that is not full, if there was more of a resource.
func (in *Intake) lacking(name scheduler.HostName, can Can) bool {
	c := in.capacities[name]
	if len(in.Takes) == 0 || in.takes[name] != nil { // what waits may be nothing that it takes
		return false
	}
	may := func(t scheduler.TypeName) bool {
		return !in.control.Pauses(t) && !in.dormant(t, can) && !in.backlog.locked[t]
	}
	several := func(t scheduler.TypeName) bool {
		return c.spawn[t] > 0 && c.space(t) <= 0 && c.takes[t].Slots() > 1 && may(t)
	}
	return slices.ContainsFunc(c.lacking, may) || slices.ContainsFunc(in.Types, several)
}

// retake gives all hosts what children take from now on.
func (in *Intake) retake(takes map[scheduler.TypeName]scheduler.Takes) {
	in.Takes = maps.Clone(takes)
	for _, c := range in.capacities {
		c.takes = in.Takes
	}
}
