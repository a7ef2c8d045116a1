package intake

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

type (
	// Offered: a host asks for work. Now and Room are added to what it asked for
	// before under the same Epoch; a new Epoch starts from nothing.
	Offered struct {
		Host          scheduler.HostName
		Epoch         uint64
		Now           map[scheduler.TypeName]int // lines that running children can take
		Room          int                        // children that could come up, of whatever type
		Spawn         map[scheduler.TypeName]int // at most so many of each type: absolute; nil: as before
		PreemptingFor []scheduler.TypeName       // room is being made for these
		Claimants     []scheduler.Claimant       // in which order types get its slots, while several wait: absolute
		Full          bool                       // children hold all slots: Room is that of children that would go
		Free          scheduler.Resources        // what is free besides slots: absolute, with Spawn
		Lacking       []scheduler.TypeName       // one of these could come up, if more was free: absolute, with Spawn
		Keeping       []scheduler.TypeName       // something that becomes free is kept for these: absolute
	}
	// Refunded: what an MSQ job was granted and did not use.
	Refunded struct {
		Host       scheduler.HostName
		Epoch      uint64
		Type       scheduler.TypeName
		Now, Spawn int
	}
)

// capacity is what one host can take, as it told us: its credits.
type capacity struct {
	epoch uint64
	now   map[scheduler.TypeName]int // lines that running children can take
	room  int                        // children that could come up
	spawn map[scheduler.TypeName]int // at most so many of each type
	// The ring after which the queue had nothing of a type, and nothing that is as
	// urgent as what others wait with.
	emptyAt, outrankedAt map[scheduler.TypeName]uint64
	preemptingFor        []scheduler.TypeName // room is being made for these
	claimants            []scheduler.Claimant // in which order types get its slots; nil: in that of their jobs
	full                 bool                 // children hold all slots
	ranAt                uint64               // the ring at which running children were asked last; 0: others were since
	told                 bool                 // the host knows that some wait
	takes                map[scheduler.TypeName]scheduler.Takes
	free                 scheduler.Resources
	lacking, keeping     []scheduler.TypeName
	plainNext            bool // by turns: types that take a slot and nothing else, and others
}

func newCapacity(takes map[scheduler.TypeName]scheduler.Takes) *capacity {
	return &capacity{takes: takes, now: map[scheduler.TypeName]int{}, spawn: map[scheduler.TypeName]int{},
		emptyAt: map[scheduler.TypeName]uint64{}, outrankedAt: map[scheduler.TypeName]uint64{}}
}

func (in *Intake) hostNames() []scheduler.HostName { return slices.Sorted(maps.Keys(in.capacities)) }

func (m Offered) apply(in *Intake, _ time.Time, _ *Step) {
	c := in.capacities[m.Host]
	if c == nil {
		c = newCapacity(in.Takes)
		in.capacities[m.Host] = c
	}
	c.offer(m)
	if !slices.Equal(c.preemptingFor, m.PreemptingFor) {
		c.preemptingFor = slices.Clone(m.PreemptingFor)
		in.ring++ // what was kept from starting for their sake may start
	}
}

func (m Refunded) apply(in *Intake, _ time.Time, _ *Step) {
	if c := in.capacities[m.Host]; c != nil {
		c.refund(m)
	}
}

func (c *capacity) offer(m Offered) {
	if c.epoch != m.Epoch {
		c.epoch, c.room, c.now = m.Epoch, 0, map[scheduler.TypeName]int{}
	}
	for t, n := range m.Now {
		c.now[t] += n
	}
	c.room += m.Room
	c.full, c.claimants = m.Full, slices.Clone(m.Claimants)
	c.keeping = slices.Clone(m.Keeping)
	if m.Spawn != nil { // else it is as it was
		c.spawn, c.free, c.lacking = maps.Clone(m.Spawn), maps.Clone(m.Free), slices.Clone(m.Lacking)
	}
}

// refund puts unused credits back, if the host still counts them.
func (c *capacity) refund(m Refunded) {
	if c.epoch == m.Epoch {
		c.now[m.Type] += m.Now
		c.room += m.Spawn * c.takes[m.Type].Slots()
		c.spawn[m.Type] += m.Spawn
		c.use(m.Type, -m.Spawn)
	}
}

// grant takes credits for n items of a type: those of running children first.
func (c *capacity) grant(t scheduler.TypeName, n int) (now, spawn int) {
	now = min(n, c.now[t])
	spawn = max(0, min(n-now, c.space(t)))
	c.now[t] -= now
	c.room -= spawn * c.takes[t].Slots()
	c.spawn[t] -= spawn
	c.use(t, spawn)
	return now, spawn
}

// spend voids credits after lines came for a host whose children hold all slots. There, the credit of an idle child and
// the credit of a child that would come up in its place are for one slot: what spends one voids the other. Otherwise
// the less urgent of two jobs could take the slot, after both had been claimed for it. void: the host counts anew.
func (c *capacity) spend(assigned bool) (void bool) {
	switch {
	case !c.full:
		return false
	case !assigned:
		void, c.room = c.room > 0, 0
		return void
	}
	for _, n := range c.now {
		void = void || n > 0
	}
	c.now = map[scheduler.TypeName]int{}
	return void
}

// reserve takes what a claim asks for out of the credits until it is back, so
// that items do not take the same slots.
func (c *capacity) reserve(demand scheduler.Demand) {
	if demand.Assigned {
		c.room -= c.cost(demand)
		c.plainNext = !c.plainNext
		return
	}
	for _, t := range demand.Types {
		c.now[t.Type] -= t.Limit
	}
}

// settle ends the reservation of a claim that is back: what it did not use
// returns. A host that began to count anew meanwhile has offered the same slots
// again: what comes now is paid with that offer, or they would be filled twice.
func (c *capacity) settle(epoch uint64, demand scheduler.Demand, used map[scheduler.TypeName]int) {
	same := c.epoch == epoch
	if demand.Assigned {
		left := 0
		if same {
			left = c.cost(demand)
		}
		for t, n := range used {
			left -= n * c.takes[t].Slots()
		}
		c.room = max(0, c.room+left)
		return
	}
	for _, t := range demand.Types {
		left := -used[t.Type]
		if same {
			left += t.Limit
		}
		c.now[t.Type] = max(0, c.now[t.Type]+left)
	}
}

// turn is the place of a type in the order in which types get slots. One that the host has not heard of has just
// begun to wait.
func (c *capacity) turn(t scheduler.TypeName) int {
	return 1 + slices.IndexFunc(c.claimants, func(one scheduler.Claimant) bool { return one.Type == t })
}

// took notes that a type got n slots.
func (c *capacity) took(t scheduler.TypeName, n int) {
	if i := c.turn(t) - 1; i >= 0 {
		c.claimants[i].At += time.Duration(n*c.takes[t].Slots()) * c.claimants[i].Line
		scheduler.SortClaimants(c.claimants)
	}
}
