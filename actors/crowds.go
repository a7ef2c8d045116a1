package actors

import (
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// How often the dispatcher looks at what waits for full hosts: after something
// rang, and as long as something waits.
const (
	crowdSoon  = 100 * time.Millisecond
	crowdAgain = time.Second
)

// crowds is what the dispatcher knows of the types that wait for a slot on
// hosts whose children are all of other types.
type crowds struct {
	busy  bool
	cut   bool // a claim brought less than it could: something more urgent may wait
	ring  uint64
	at    time.Time
	some  bool // something waited at the last look
	timer *time.Timer
	// Types for which room was made, and a claim found nothing: what waits may be
	// in somebody's hand. And of those where the last look has found it so: no
	// room is made for them, and nobody is kept from starting.
	doubt  map[scheduler.TypeName]bool
	inHand map[scheduler.TypeName]bool
}

// crowdsSeen is what waits for each host that was looked at. To itself, from
// the look.
type crowdsSeen struct {
	epoch int
	ring  uint64
	cut   bool
	doubt []scheduler.TypeName
	of    map[scheduler.HostName][]scheduler.Crowd
	in    map[scheduler.TypeName]bool // somebody's hand
	err   error
}

// crowded tells a host what waits for it, and of which types an MSQ job that
// runs here has rows to come. From the dispatcher.
type crowded struct {
	Waiting []scheduler.Crowd
	Coming  []scheduler.TypeName
}

// rivals are the types that could come up on a host if it had room, and that
// it does not make room for already. What is less urgent than they are must not
// start there before them.
func (d *dispatcher) rivals(name scheduler.HostName, exclusive bool) (types []scheduler.TypeName) {
	p := d.hosts[name]
	if p.room > 0 || d.only[name] != nil { // what waits may be nothing that such a host takes
		return nil
	}
	for _, t := range d.types {
		if p.spawn[t] > 0 && p.now[t] <= 0 && d.alone.types[t] == exclusive && !d.standing.Pauses(t) && !d.h.dormant(t) && !d.crowds.inHand[t] && !slices.Contains(p.making, t) {
			types = append(types, t)
		}
	}
	return types
}

// lookAtCrowds finds out what waits for hosts that are full, when that may have
// changed.
func (d *dispatcher) lookAtCrowds(c actor.Context) {
	if d.crowds.busy || d.h.Crowds == nil {
		return
	}
	var hosts []scheduler.HostName
	for name, p := range d.hosts {
		if p.told || len(d.rivals(name, false)) > 0 || len(d.running) == 0 && len(d.rivals(name, true)) > 0 {
			hosts = append(hosts, name)
		}
	}
	if len(hosts) == 0 {
		return
	}
	var at time.Time
	switch {
	case d.crowds.cut || d.ring != d.crowds.ring:
		at = d.crowds.at.Add(crowdSoon)
	case d.crowds.some:
		at = d.crowds.at.Add(crowdAgain)
	default:
		return
	}
	if d.crowds.timer != nil {
		d.crowds.timer.Stop()
		d.crowds.timer = nil
	}
	self, root := c.Self(), d.h.system.Root
	if wait := time.Until(at); wait > 0 {
		d.crowds.timer = time.AfterFunc(wait, func() { root.Send(self, &lookAtCrowds{}) })
		return
	}
	names := map[scheduler.HostName][]string{}
	for _, name := range hosts {
		names[name] = d.places.named[name]
	}
	m := &crowdsSeen{epoch: d.epoch, ring: d.ring, cut: d.crowds.cut, doubt: slices.Collect(maps.Keys(d.crowds.doubt)),
		of: map[scheduler.HostName][]scheduler.Crowd{}, in: map[scheduler.TypeName]bool{}}
	d.crowds.busy, d.crowds.cut, d.crowds.at, d.crowds.ring = true, false, time.Now(), d.ring
	h, ctx := d.h, d.ctx
	types := slices.DeleteFunc(slices.Clone(d.types), func(t scheduler.TypeName) bool { // for these no room is to be made
		return d.standing.Pauses(t) || d.h.dormant(t) || d.alone.types[t] && len(d.running) > 0
	})
	go func() {
		for name, answers := range names {
			var inHand []scheduler.TypeName
			if m.of[name], inHand, m.err = h.Crowds.Crowds(ctx, types, m.doubt, answers); m.err != nil {
				break
			}
			for _, t := range inHand {
				m.in[t] = true
			}
		}
		root.Send(self, m)
	}()
}

// lookAtCrowds: it may be time to look. To itself.
type lookAtCrowds struct{}

func (d *dispatcher) onCrowds(m *crowdsSeen) {
	if m.epoch != d.epoch {
		return
	}
	d.crowds.busy = false
	if m.err != nil {
		return // the next ring, or scan, looks again
	}
	if d.stopping { // nothing of it will start
		return
	}
	for _, t := range m.doubt {
		if !m.in[t] {
			delete(d.crowds.doubt, t)
		}
	}
	if !maps.Equal(d.crowds.inHand, m.in) {
		d.crowds.inHand = m.in
		d.ring++ // what their priority kept from starting may start
	}
	d.crowds.some = false
	for name, waiting := range m.of {
		p := d.hosts[name]
		if p == nil {
			continue
		}
		waiting = d.withItems(name, waiting)
		if len(waiting) > 0 {
			d.crowds.some = true
		}
		if len(waiting) > 0 || p.told {
			d.h.tell(roleHost(name), &crowded{waiting, d.coming()})
		}
		p.told = len(waiting) > 0
	}
	if m.cut && d.crowds.some { // what kept a job from starting may be gone
		d.ring++
		d.crowds.ring = d.ring
	}
}

// withItems adds what MSQ jobs have waiting.
func (d *dispatcher) withItems(name scheduler.HostName, waiting []scheduler.Crowd) []scheduler.Crowd {
	for _, s := range d.sources {
		n, _ := s.on(d, name)
		if n <= 0 || d.standing.Pauses(s.job.Type) {
			continue
		}
		i := slices.IndexFunc(waiting, func(w scheduler.Crowd) bool { return w.Type == s.job.Type })
		if i < 0 {
			i = len(waiting)
			waiting = append(waiting, scheduler.Crowd{Type: s.job.Type, Best: s.job.Priority})
		}
		waiting[i].Jobs += n
		waiting[i].Best = min(waiting[i].Best, s.job.Priority)
	}
	return waiting
}

// coming are the types of which an MSQ job that runs here has rows to come: in
// this round, or in the next.
func (d *dispatcher) coming() (types []scheduler.TypeName) {
	for _, s := range d.sources {
		more := s.opening || s.reading || s.waiting > 0 || s.job.Repeat == scheduler.RepeatUntilEmpty
		if more && !slices.Contains(types, s.job.Type) {
			types = append(types, s.job.Type)
		}
	}
	return types
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
		waiting[i] = w.Aged(now.Sub(since), 3*max(s.h.MinReady, crowdAgain))
	}
	return waiting
}
