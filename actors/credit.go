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
	for _, kind := range s.kinds {
		kind.granted, kind.told = 0, untold
	}
}

// ask tells the dispatcher what this host can take beyond what it has asked
// for already.
func (s *host) ask(now time.Time) {
	if s.asleep || s.closed {
		return
	}
	m := &credits{Host: s.spec.Name, Epoch: s.epoch, Making: s.making}
	slots := scheduler.Slots{All: s.spec.Slots, Granted: s.grantedRoom}
	types := len(s.kinds)
	if s.types[s.h.RowType] != nil && s.h.dormant(s.h.RowType) {
		types--
	}
	changed := false
	for _, kind := range s.kinds {
		a := scheduler.Appetite{Pending: len(kind.pending), Granted: kind.granted}
		var live int
		live, a.Coming = kind.live()
		slots.Taken += live
		for _, k := range kind.kids {
			a.Room += k.free()
			if k.lodger().Freeable(s.h.MinReady, now) {
				slots.Freeable++
			}
		}
		a.Could = s.could(kind, live, now)
		slots.Short += a.Short()
		more, spawn := a.Ask()
		if kind.yields() { // no other child of it comes up where one makes room
			spawn = 0
		}
		if kind.Exec && types > 1 {
			// There is no process that would be lost: a slot is anybody's, and goes
			// to the most urgent job of whatever type.
			more, spawn = 0, spawn+more
		}
		if more > 0 {
			if m.Now == nil {
				m.Now = map[scheduler.TypeName]int{}
			}
			m.Now[kind.Name] = more
			kind.granted += more
		}
		changed = changed || kind.told != spawn
		kind.spawn = spawn
	}
	if changed { // seldom: with hundreds of types this is most of the message
		m.Spawn = map[scheduler.TypeName]int{}
		for _, kind := range s.kinds {
			if kind.told = kind.spawn; kind.spawn > 0 {
				m.Spawn[kind.Name] = kind.spawn
			}
		}
	}
	m.Room = slots.Ask()
	s.grantedRoom += m.Room
	if len(m.Now) > 0 || m.Room > 0 || changed {
		s.h.tell(roleDispatcher, m)
	}
}
