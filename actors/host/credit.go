package host

import (
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
)

// resync forgets the credits that are out and asks anew: after a child is
// gone, what it had room for must not be waited for.
func (s *host) resync(now time.Time) {
	s.resyncSoon()
	s.ask(now)
}

func (s *host) resyncSoon() {
	s.epoch++
	s.grantedRoom = 0
	for _, pool := range s.pools {
		pool.granted, pool.told = 0, untold
	}
}

// shared reports whether types compete for the slots.
func (s *host) shared() bool {
	types := len(s.pools)
	if s.types[s.inst.RowType] != nil && s.inst.dormant(s.inst.RowType) {
		types--
	}
	return types > 1
}

// capacity is a look at a pool.
type capacity struct {
	scheduler.TypeCapacity
	live     int // children that hold slots
	slots    int // that they hold
	freeable int // of these, those of children that may go to make room
	// Of mode exec beside other types: children with nothing to do. There is no process that would be lost: their
	// slots are free for any type, and go to the most urgent job.
	anybodys int
}

func (s *host) capacityOf(pool *pool, shared bool, now time.Time) (p capacity) {
	p.Pending, p.Granted = len(pool.pending), pool.granted
	p.live, p.Coming = pool.live()
	p.slots = pool.slots()
	p.Spawnable = s.could(pool, p.live, now)
	for _, child := range pool.children {
		room, idle := child.roomLeft(), child.seat().Idle
		switch {
		case !shared || !pool.Exec:
			p.Room += room
		case idle:
			p.anybodys += min(1, room)
		case !s.contended(): // else the end of its line frees the slot for any type
			p.Room += room
		}
		switch {
		case idle && room > 0:
			p.Idle++
		case child.takes():
			p.Busy++
		}
		if shared && s.lodger(child).Freeable(now) { // only other types need the slot
			p.freeable += child.has.Slots()
		}
	}
	return p
}

// ask tells the dispatcher what this host can take beyond what it has asked
// for already.
func (s *host) ask(now time.Time) {
	if s.asleep || s.leaving {
		return
	}
	m := &message.Credits{Host: s.spec.Name, Epoch: s.epoch, PreemptingFor: s.preemptingFor, Keeping: s.keeping()}
	slots := scheduler.Slots{All: s.spec.Slots, Granted: s.grantedRoom}
	shared := s.shared()
	for _, pool := range s.pools {
		pool.capacity = s.capacityOf(pool, shared, now)
		slots.Taken += pool.capacity.slots
		slots.Freeable += pool.capacity.freeable
		slots.Short += pool.capacity.Short() * pool.Takes.Slots()
	}
	for _, pool := range s.pools {
		more, spawn := pool.capacity.Ask()
		if pool.draining() { // no other child of it comes up where one makes room
			spawn = 0
		}
		spawn += pool.capacity.anybodys
		if more > 0 {
			if m.Now == nil {
				m.Now = map[scheduler.TypeName]int{}
			}
			m.Now[pool.Name] = more
			pool.granted += more
		}
		pool.spawn = spawn
	}
	changed := s.named(now)
	for _, pool := range s.pools {
		changed = changed || pool.told != pool.spawn
	}
	if changed { // seldom: with hundreds of types this is most of the message
		m.Spawn, m.Free, m.Lacking = map[scheduler.TypeName]int{}, s.free, s.lacking
		for _, pool := range s.pools {
			if pool.told = pool.spawn; pool.spawn > 0 {
				m.Spawn[pool.Name] = pool.spawn
			}
		}
	}
	m.Room, m.Full = slots.Ask(), slots.Taken >= slots.All
	m.Claimants = s.claimants(now)
	s.grantedRoom += m.Room
	if len(m.Now) > 0 || m.Room > 0 || changed || m.Full != s.toldFull {
		s.toldFull = m.Full
		s.inst.Tell(message.RoleDispatcher, m)
	}
}
