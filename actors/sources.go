package actors

import (
	"cmp"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// source is an MSQ job that runs here.
type source struct {
	job     scheduler.Job
	waiting int            // items that want a child
	places  map[string]int // of those, the ones that name a place
	reading bool           // more may come
	opening bool           // nothing heard yet: a place is kept for it
}

// on is how many items may run on a host, and under which names.
func (s *source) on(d *dispatcher, host scheduler.HostName) (n int, names []string) {
	if s.job.Host != host && !d.only[host].Takes(s.job.Priority) { // whether it takes the priority's name, only a claim knows
		return 0, nil
	}
	n = s.waiting
	for name, waiting := range s.places {
		if hosts, _ := d.hostsOf(name); slices.Contains(hosts, host) {
			names = append(names, name)
		} else {
			n -= waiting
		}
	}
	return n, names
}

// take notes that n items were granted to a host: those that name it go first.
func (s *source) take(n int, names []string) {
	s.waiting -= n
	for _, name := range names {
		took := min(n, s.places[name])
		n -= took
		if s.places[name] -= took; s.places[name] == 0 {
			delete(s.places, name)
		}
	}
}

// feedSources gives MSQ jobs the places that are theirs: those of the best
// priority first, and among equals every one in its turn, the queue too while
// it may have jobs as urgent.
func (d *dispatcher) feedSources() {
	if len(d.sources) == 0 {
		return
	}
	byType := map[scheduler.TypeName][]*source{}
	for _, s := range d.sources {
		if s.waiting > 0 && !d.standing.Pauses(s.job.Type) {
			byType[s.job.Type] = append(byType[s.job.Type], s)
		}
	}
	for t, list := range byType {
		slices.SortFunc(list, func(a, b *source) int {
			return cmp.Or(cmp.Compare(a.job.Priority, b.job.Priority), cmp.Compare(a.job.Claim.Job, b.job.Claim.Job))
		})
		for len(list) > 0 {
			equal := 1
			for equal < len(list) && list[equal].job.Priority == list[0].job.Priority {
				equal++
			}
			d.feedEqual(t, list[:equal])
			list = list[equal:]
		}
	}
}

func (d *dispatcher) feedEqual(t scheduler.TypeName, equal []*source) {
	for name, p := range d.hosts {
		queue := p.dry[t] != d.ring && !d.claiming && !d.stopping
		now, spawn := p.now[t], min(p.room, p.spawn[t])
		if now+spawn <= 0 {
			continue
		}
		takers := slices.DeleteFunc(slices.Clone(equal), func(s *source) bool { n, _ := s.on(d, name); return n <= 0 })
		_, parts := scheduler.Split(now+spawn, len(takers), d.turn[t], queue)
		given := false
		for i, s := range takers {
			can, names := s.on(d, name)
			n := min(parts[i], can)
			if n <= 0 {
				continue
			}
			fromNow := min(n, p.now[t])
			fromRoom := min(n-fromNow, p.room)
			p.now[t] -= fromNow
			p.room -= fromRoom
			p.spawn[t] -= fromRoom
			s.take(fromNow+fromRoom, names)
			given = true
			d.h.tell(roleMSQ(s.job.Claim.Job), &grant{Host: name, Epoch: p.epoch, Places: names, Now: fromNow, Spawn: fromRoom})
		}
		if given {
			d.turn[t]++
		}
	}
}

func (d *dispatcher) onRows(c actor.Context, m *rows) {
	s := d.sources[m.Claim.Job]
	if m.Job != nil && (s == nil || s.job.Claim != m.Claim) { // another dispatcher knew of it
		s = &source{job: *m.Job}
		d.sources[m.Claim.Job] = s
	}
	if s == nil || s.job.Claim != m.Claim {
		return
	}
	if s.waiting == 0 && m.Waiting > 0 && d.crowds.some { // its children may take no more lines, since it had none
		d.crowds.cut = true
	}
	s.waiting, s.places, s.reading, s.opening = m.Waiting, m.Places, m.Reading, m.Opening
	for name := range s.places {
		if _, known := d.hostsOf(name); !known {
			if d.places.asked == nil {
				d.places.asked = map[string]bool{}
			}
			d.places.asked[name] = true
		}
	}
	if len(d.places.asked) > 0 && !d.dueBusy {
		d.due(c)
	}
	d.tellNowhere()
}

// tellNowhere tells MSQ jobs of places that no host answers to.
func (d *dispatcher) tellNowhere() {
	for _, s := range d.sources {
		var names []string
		for name, n := range s.places {
			if hosts, known := d.hostsOf(name); known && len(hosts) == 0 {
				names = append(names, name)
				s.waiting -= n
				delete(s.places, name)
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			d.h.tell(roleMSQ(s.job.Claim.Job), &nowhere{names})
		}
	}
}
