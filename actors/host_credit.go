package actors

import (
	"time"

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

// ask tells the dispatcher what this host can take beyond what it has asked
// for already.
func (s *host) ask(now time.Time) {
	if s.asleep || s.leaving {
		return
	}
	m := &credits{Host: s.spec.Name, Epoch: s.epoch, PreemptingFor: s.preemptingFor}
	slots := scheduler.Slots{All: s.spec.Slots, Granted: s.grantedRoom}
	types := len(s.pools)
	if s.types[s.inst.RowType] != nil && s.inst.dormant(s.inst.RowType) {
		types--
	}
	changed := false
	for _, pool := range s.pools {
		a := scheduler.TypeCapacity{Pending: len(pool.pending), Granted: pool.granted}
		var live int
		live, a.Coming = pool.live()
		slots.Taken += live
		for _, child := range pool.children {
			a.Room += child.roomLeft()
			if child.lodger().Freeable(s.inst.MinReady, now) {
				slots.Freeable++
			}
		}
		a.Spawnable = s.could(pool, live, now)
		slots.Short += a.Short()
		more, spawn := a.Ask()
		if pool.draining() { // no other child of it comes up where one makes room
			spawn = 0
		}
		if pool.Exec && types > 1 {
			// There is no process that would be lost: a slot is anybody's, and goes
			// to the most urgent job of whatever type.
			more, spawn = 0, spawn+more
		}
		if more > 0 {
			if m.Now == nil {
				m.Now = map[scheduler.TypeName]int{}
			}
			m.Now[pool.Name] = more
			pool.granted += more
		}
		changed = changed || pool.told != spawn
		pool.spawn = spawn
	}
	if changed { // seldom: with hundreds of types this is most of the message
		m.Spawn = map[scheduler.TypeName]int{}
		for _, pool := range s.pools {
			if pool.told = pool.spawn; pool.spawn > 0 {
				m.Spawn[pool.Name] = pool.spawn
			}
		}
	}
	m.Room = slots.Ask()
	s.grantedRoom += m.Room
	if len(m.Now) > 0 || m.Room > 0 || changed {
		s.inst.tell(roleDispatcher, m)
	}
}
