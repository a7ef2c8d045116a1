package actors

import (
	"slices"

	"bellhop/scheduler"
)

// purse is what one host can take, as it told us.
type purse struct {
	epoch uint64
	now   map[scheduler.TypeName]int
	room  int
	spawn map[scheduler.TypeName]int
	dry   map[scheduler.TypeName]uint64 // the ring after which the queue had nothing for it
	kept  map[scheduler.TypeName]uint64 // the ring after which it had nothing as urgent as others wait with
	// Of others, who wait for room:
	making []scheduler.TypeName // it is being made for these
	told   bool                 // the host knows that some wait
}

func (d *dispatcher) onCredits(m *credits) {
	p := d.hosts[m.Host]
	if p == nil {
		p = &purse{spawn: map[scheduler.TypeName]int{}, dry: map[scheduler.TypeName]uint64{}, kept: map[scheduler.TypeName]uint64{}}
		d.hosts[m.Host] = p
	}
	if p.epoch != m.Epoch {
		p.epoch, p.room, p.now = m.Epoch, 0, map[scheduler.TypeName]int{}
	}
	for t, n := range m.Now {
		p.now[t] += n
	}
	p.room += m.Room
	if m.Spawn != nil { // else it is as it was
		p.spawn = m.Spawn
	}
	if !slices.Equal(p.making, m.Making) {
		p.making = m.Making
		d.ring++ // what was kept from starting for their sake may start
	}
}

// refund puts unused credits back, if the host still counts them.
func (d *dispatcher) refund(host scheduler.HostName, epoch uint64, t scheduler.TypeName, now, spawn int) {
	if p := d.hosts[host]; p != nil && p.epoch == epoch {
		p.now[t] += now
		p.room += spawn
		p.spawn[t] += spawn
	}
}

// demand is what one claim for a host may fetch of every type that the queue
// may have something of: lines that children who are up can take, or jobs for
// which children can come up (assigned). exclusive: of such types only, or of
// all others.
func (d *dispatcher) demand(name scheduler.HostName, assigned, exclusive bool) scheduler.Demand {
	p := d.hosts[name]
	demand := scheduler.Demand{Host: name, Answers: d.places.named[name], Assigned: assigned, MSQ: true, Only: d.only[name]}
	var closed []scheduler.TypeDemand // types of which no other MSQ job may be opened
	places := p.now
	if assigned {
		places = p.spawn
	}
	for _, t := range d.types {
		if places[t] <= 0 || p.dry[t] == d.ring || !assigned && p.kept[t] == d.ring || d.alone.types[t] != exclusive || d.standing.Pauses(t) || d.h.dormant(t) {
			continue
		}
		placed := assigned && d.readyElsewhere(name, t)
		if placed && len(demand.Answers) == 0 {
			continue
		}
		if assigned && len(p.making) > 0 && !slices.Contains(p.making, t) {
			continue // the room was made for others
		}
		most, worst := places[t], 19
		kept := 0 // for MSQ jobs that are about to take a place
		for _, s := range d.sources {
			if s.job.Type != t {
				continue
			}
			if s.opening {
				kept++
			} else if s.waiting > 0 {
				worst = min(worst, s.job.Priority)
			}
		}
		if assigned && p.now[t] > kept {
			continue // first what needs nobody to come up
		} else if assigned {
			most = min(most, p.room) - max(0, kept-p.now[t])
		} else {
			most -= kept
		}
		if most <= 0 {
			continue
		}
		if one := (scheduler.TypeDemand{Type: t, Most: most, Worst: worst, Placed: placed}); d.mayOpen(name, t) {
			demand.Types = append(demand.Types, one)
		} else {
			closed = append(closed, one)
		}
	}
	if len(demand.Types) == 0 { // else these come after those, when the queue has nothing more for them
		demand.Types, demand.MSQ = closed, false
	}
	for _, t := range demand.Types {
		demand.Total += t.Most
	}
	demand.Again, demand.Ring = d.again, d.ring
	if !assigned && len(demand.Types) > 0 {
		demand.Rivals = d.rivals(name, exclusive)
	}
	if assigned {
		demand.Total = min(demand.Total, p.room)
	}
	return demand
}

// reserve takes what a claim asks for out of the purse until it is back, so
// that items do not take the same places.
func (p *purse) reserve(demand scheduler.Demand) {
	if demand.Assigned {
		p.room -= demand.Total
		return
	}
	for _, t := range demand.Types {
		p.now[t.Type] -= t.Most
	}
}

// spent settles a claim that is back: what it did not use returns. A host that
// began to count anew meanwhile has offered the same places again: what comes
// now is paid with that offer, or they would be filled twice.
func (p *purse) spent(of uint64, demand scheduler.Demand, used map[scheduler.TypeName]int) {
	same := p.epoch == of
	if demand.Assigned {
		left := 0
		if same {
			left = demand.Total
		}
		for _, n := range used {
			left -= n
		}
		p.room = max(0, p.room+left)
		return
	}
	for _, t := range demand.Types {
		left := -used[t.Type]
		if same {
			left += t.Most
		}
		p.now[t.Type] = max(0, p.now[t.Type]+left)
	}
}

// readyElsewhere reports whether a child of the type is READY on another host:
// before a child comes up here, that one takes what may run anywhere. It does
// so even if it has just found nothing: what comes in between two looks is its.
// A host that does not take every job is not waited for.
func (d *dispatcher) readyElsewhere(name scheduler.HostName, t scheduler.TypeName) bool {
	for other, p := range d.hosts {
		if other != name && d.only[other] == nil && p.now[t] > 0 && p.kept[t] != d.ring {
			return true
		}
	}
	return false
}

// mayOpen reports whether a host may fetch another MSQ job of a type. Each
// holds a connection while its rows are read, so there is a bound; but jobs of
// one type on one host never keep the first of another from starting.
func (d *dispatcher) mayOpen(name scheduler.HostName, t scheduler.TypeName) bool {
	if len(d.sources) < d.h.Cursors {
		return true
	}
	for _, s := range d.sources {
		if s.job.Type == t && s.job.Host == name {
			return false
		}
	}
	return true
}
