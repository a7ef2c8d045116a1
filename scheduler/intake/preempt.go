package intake

import (
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

// How often it is read what waits for full hosts: after something rang, and as
// long as something waits.
const (
	backlogSoon  = 100 * time.Millisecond
	BacklogAgain = time.Second
)

// Read is what to find out of the backlog.
type Read struct {
	Ring      uint64
	Cut       bool
	Types     []scheduler.TypeName
	Suspected []scheduler.TypeName            // of these, whether what waits is locked
	Hosts     map[scheduler.HostName][]string // the hosts, and what each answers to
}

// BacklogRead is what waits for each host that was looked at.
type BacklogRead struct {
	Read   Read
	Of     map[scheduler.HostName][]scheduler.Backlog
	Locked []scheduler.TypeName // of the suspected ones
	Failed bool
}

// Waiting tells a host what waits for it, and of which types an MSQ job that
// runs here has rows to come.
type Waiting struct {
	Host   scheduler.HostName
	Types  []scheduler.Backlog
	Coming []scheduler.TypeName
}

// backlog is what is known of the types that wait for a slot on hosts whose
// children are all of other types.
type backlog struct {
	reading bool
	cut     bool // a claim brought less than it could: something more urgent may wait
	ring    uint64
	at      time.Time
	some    bool // something waited at the last look
	// Types for which room was made, and a claim found nothing: the waiting rows may be locked. And those for which
	// the last look has confirmed that: no room is made for them, and they keep no other type from starting.
	suspected, locked map[scheduler.TypeName]bool
}

// preemptors are the types that could come up on a host if it had a free slot, and that
// it does not make room for already. What is less urgent than they are must not
// start there before them.
func (in *Intake) preemptors(name scheduler.HostName, exclusive bool, can Can) (types []scheduler.TypeName) {
	c := in.capacities[name]
	// A free slot takes another type's job beside what is claimed. The slot of an idle child does not: one or the other
	// starts there. What waits may be nothing that a host takes which does not take every job.
	if c.room > 0 && !c.full || in.takes[name] != nil {
		return nil
	}
	for _, t := range in.Types {
		waits := c.spawn[t] > 0 && c.now[t] <= 0 && in.excl.types[t] == exclusive
		mayStart := !in.control.Pauses(t) && !in.dormant(t, can) && !in.backlog.locked[t]
		if waits && mayStart && !slices.Contains(c.preemptingFor, t) {
			types = append(types, t)
		}
	}
	return types
}

// mayWait reports whether something may wait for a host that has no room for it.
func (in *Intake) mayWait(name scheduler.HostName, can Can) bool {
	return len(in.preemptors(name, false, can)) > 0 ||
		can.Running == 0 && len(in.preemptors(name, true, can)) > 0 || in.lacking(name, can)
}

// readBacklog has what waits for hosts that are full read, when that may have
// changed.
func (in *Intake) readBacklog(can Can, now time.Time, s *Step) {
	b := &in.backlog
	if b.reading {
		return
	}
	hosts := map[scheduler.HostName][]string{}
	for name, c := range in.capacities {
		if c.told || in.mayWait(name, can) {
			hosts[name] = in.locality.named[name]
		}
	}
	if len(hosts) == 0 {
		return
	}
	var at time.Time
	switch {
	case b.cut || in.ring != b.ring:
		at = b.at.Add(backlogSoon)
	case b.some:
		at = b.at.Add(BacklogAgain)
	default:
		return
	}
	if at.After(now) {
		s.ReadAt = at
		return
	}
	s.Read = &Read{Ring: in.ring, Cut: b.cut, Suspected: slices.Sorted(maps.Keys(b.suspected)), Hosts: hosts,
		Types: slices.DeleteFunc(slices.Clone(in.Types), func(t scheduler.TypeName) bool { // for these no room is to be made
			return in.control.Pauses(t) || in.dormant(t, can) || in.excl.types[t] && can.Running > 0
		})}
	b.reading, b.cut, b.at, b.ring = true, false, now, in.ring
}

func (m BacklogRead) apply(in *Intake, _ time.Time, s *Step) {
	b := &in.backlog
	b.reading = false
	if m.Failed { // the next ring, or scan, looks again
		return
	}
	if in.leaving { // nothing of it will start
		return
	}
	locked := map[scheduler.TypeName]bool{}
	for _, t := range m.Locked {
		locked[t] = true
	}
	for _, t := range m.Read.Suspected {
		if !locked[t] {
			delete(b.suspected, t)
		}
	}
	if !maps.Equal(b.locked, locked) {
		b.locked = locked
		in.ring++ // what their priority kept from starting may start
	}
	b.some = false
	for _, name := range slices.Sorted(maps.Keys(m.Of)) {
		c := in.capacities[name]
		if c == nil {
			continue
		}
		waiting := in.withItems(name, slices.Clone(m.Of[name]))
		if len(waiting) > 0 {
			b.some = true
		}
		if len(waiting) > 0 || c.told {
			s.Backlogs = append(s.Backlogs, Waiting{name, waiting, in.coming()})
		}
		c.told = len(waiting) > 0
	}
	if m.Read.Cut && b.some { // what kept a job from starting may be gone
		in.ring++
		b.ring = in.ring
	}
}

// withItems adds what MSQ jobs have waiting.
func (in *Intake) withItems(name scheduler.HostName, waiting []scheduler.Backlog) []scheduler.Backlog {
	for _, q := range in.byAge() {
		n, _ := q.on(in, name)
		if n <= 0 || in.control.Pauses(q.job.Type) {
			continue
		}
		i := slices.IndexFunc(waiting, func(w scheduler.Backlog) bool { return w.Type == q.job.Type })
		if i < 0 {
			i = len(waiting)
			waiting = append(waiting, scheduler.Backlog{Type: q.job.Type, Head: q.job.Priority})
		}
		waiting[i].Jobs += n
		waiting[i].Head = min(waiting[i].Head, q.job.Priority)
	}
	return waiting
}

// coming are the types of which an MSQ job that runs here has rows to come: in
// this round, or in the next.
func (in *Intake) coming() (types []scheduler.TypeName) {
	for _, q := range in.byAge() {
		more := q.opening || q.reading || q.waiting > 0 || q.job.Repeat == scheduler.RepeatUntilEmpty
		if more && !slices.Contains(types, q.job.Type) {
			types = append(types, q.job.Type)
		}
	}
	return types
}
