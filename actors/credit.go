package actors

import (
	"maps"
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
	s.spawnTold = nil
	for _, kind := range s.types {
		kind.granted = 0
	}
}

// ask tells the dispatcher what this host can take beyond what it has asked
// for already.
func (s *host) ask(now time.Time) {
	if s.asleep || s.closed {
		return
	}
	m := &credits{Host: s.spec.Name, Epoch: s.epoch, Spawn: map[scheduler.TypeName]int{}, Making: s.making}
	slots := scheduler.Slots{All: s.spec.Slots, Taken: s.taken(), Granted: s.grantedRoom}
	for _, k := range s.kids {
		if k.lodger().Freeable(s.h.MinReady, now) {
			slots.Freeable++
		}
	}
	types := len(s.types)
	if s.types[s.h.RowType] != nil && s.h.dormant(s.h.RowType) {
		types--
	}
	for name, kind := range s.types {
		a := scheduler.Appetite{Pending: len(kind.pending), Granted: kind.granted, Could: s.could(kind, now)}
		_, a.Coming = kind.live()
		for _, k := range kind.kids {
			a.Room += k.free()
		}
		slots.Short += a.Short()
		more, spawn := a.Ask()
		if kind.Exec && types > 1 {
			// There is no process that would be lost: a slot is anybody's, and goes
			// to the most urgent job of whatever type.
			more, spawn = 0, spawn+more
		}
		if more > 0 {
			if m.Now == nil {
				m.Now = map[scheduler.TypeName]int{}
			}
			m.Now[name] = more
			kind.granted += more
		}
		if spawn > 0 {
			m.Spawn[name] = spawn
		}
	}
	m.Room = slots.Ask()
	s.grantedRoom += m.Room
	if len(m.Now) > 0 || m.Room > 0 || !maps.Equal(m.Spawn, s.spawnTold) {
		s.spawnTold = maps.Clone(m.Spawn) // the message's is the dispatcher's, who counts it down
		s.h.tell(roleDispatcher, m)
	}
}
