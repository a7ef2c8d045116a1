package intake

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"bellhop/scheduler"
)

type (
	// MSQWaits: so many items of an MSQ job want a child.
	MSQWaits struct {
		Claim   scheduler.Claim
		Waiting int
		Names   map[string]int // of those, the ones that name where they run
		Reading bool           // more may come
		Opening bool           // nothing has been read yet: a slot is to be kept
		Job     *scheduler.Job // should this be the first that is heard of it
	}
	// MSQEnded: an MSQ job is over here.
	MSQEnded struct{ Job scheduler.JobID }
	// Reconciled: of MSQ jobs only these run here.
	Reconciled struct{ MSQs []scheduler.Claim }
)

// Grant lets an MSQ job deal so many items to a host, Spawn of them to children
// that have to come up. Names are those that the host answers to.
type Grant struct {
	Job        scheduler.JobID
	Host       scheduler.HostName
	Epoch      uint64
	Names      []string
	Now, Spawn int
}

// Nowhere tells an MSQ job that no host of this instance answers to these names.
type Nowhere struct {
	Job   scheduler.JobID
	Names []string
}

// msq is an MSQ job that runs here.
type msq struct {
	job     scheduler.Job
	waiting int            // items that want a child
	names   map[string]int // of those, the ones that name where they run
	reading bool           // more may come
	opening bool           // nothing heard yet: a slot is kept for it
}

func newMSQ(job scheduler.Job, opening bool) *msq {
	job.Line = scheduler.Line{Claim: job.Claim, Priority: job.Priority} // its arguments are not needed
	return &msq{job: job, opening: opening}
}

// on is how many items may run on a host, and under which names.
func (q *msq) on(in *Intake, host scheduler.HostName) (n int, names []string) {
	// Whether a host takes the priority's name, only a claim knows.
	if q.job.Host != host && !in.takes[host].Takes(q.job.Priority) {
		return 0, nil
	}
	n = q.waiting
	for name, waiting := range q.names {
		if hosts, _ := in.locality.hostsOf(name); slices.Contains(hosts, host) {
			names = append(names, name)
		} else {
			n -= waiting
		}
	}
	slices.Sort(names)
	return n, names
}

// take notes that n items were granted to a host: those that name it go first.
func (q *msq) take(n int, names []string) {
	q.waiting -= n
	for _, name := range names {
		took := min(n, q.names[name])
		n -= took
		if q.names[name] -= took; q.names[name] == 0 {
			delete(q.names, name)
		}
	}
}

// byAge lists the MSQ jobs in the order of their ids.
func (in *Intake) byAge() []*msq {
	list := make([]*msq, 0, len(in.msqs))
	for _, id := range slices.Sorted(maps.Keys(in.msqs)) {
		list = append(list, in.msqs[id])
	}
	return list
}

// feed gives MSQ jobs the slots that are theirs: those of the best priority first, and equals in turn. The queue
// takes a turn too while it may have jobs as urgent. Types, and hosts, take turns in coming first.
func (in *Intake) feed(can Can, s *Step) {
	for len(in.msqs) > 0 {
		before := len(s.Grants)
		in.feedOnce(can, s)
		inTurn := func(g Grant) bool { return g.Spawn > 0 && in.capacities[g.Host].claimants != nil }
		if !slices.ContainsFunc(s.Grants[before:], inTurn) { // else it was one slot; the next may be another type's
			return
		}
	}
}

func (in *Intake) feedOnce(can Can, s *Step) {
	byType := map[scheduler.TypeName][]*msq{}
	for _, q := range in.byAge() {
		if q.waiting > 0 && !in.control.Pauses(q.job.Type) {
			byType[q.job.Type] = append(byType[q.job.Type], q)
		}
	}
	before := len(s.Grants)
	for _, t := range inTurn(slices.Sorted(maps.Keys(byType)), in.feeds) {
		list := byType[t]
		slices.SortStableFunc(list, func(a, b *msq) int { return cmp.Compare(a.job.Priority, b.job.Priority) })
		for first, end := 0, 0; first < len(list); first = end {
			for end < len(list) && list[end].job.Priority == list[first].job.Priority {
				end++
			}
			in.feedEqual(t, list[first:end], list[:first], can, s)
		}
	}
	if len(s.Grants) > before {
		in.feeds++
	}
}

// feedEqual gives slots to MSQ jobs of one type and priority. Where items of more
// urgent ones still wait, what is free was left to the queue, as urgent as they
// are, and is not for these.
func (in *Intake) feedEqual(t scheduler.TypeName, equal, before []*msq, can Can, s *Step) {
	for _, name := range inTurn(in.hostNames(), in.feeds) {
		c := in.capacities[name]
		// While it is being asked, all is for the items. A pass, or a claim for other types, asks for nothing of this type:
		// the queue's turn stays, or items would have both turns wherever such a claim is under way at each second one.
		isT := func(d scheduler.TypeDemand) bool { return d.Type == t }
		asked := can.Claiming && (in.late || slices.ContainsFunc(in.asked, isT))
		queue := c.emptyAt[t] != in.ring && !in.leaving && !asked
		free := c.now[t] + in.roomFor(name, t, can)
		if free <= 0 {
			continue
		}
		waits := func(q *msq) bool { n, _ := q.on(in, name); return n > 0 }
		if slices.ContainsFunc(before, waits) {
			continue
		}
		takers := slices.DeleteFunc(slices.Clone(equal), func(q *msq) bool { return !waits(q) })
		_, parts := Split(free, len(takers), in.turn[t], queue)
		given := false
		for i, q := range takers {
			waiting, names := q.on(in, name)
			n := min(parts[i], waiting)
			if n <= 0 {
				continue
			}
			now, spawn := c.grant(t, n)
			c.took(t, spawn)
			q.take(now+spawn, names)
			given = true
			s.Grants = append(s.Grants, Grant{
				Job: q.job.Claim.Job, Host: name, Epoch: c.epoch, Names: names, Now: now, Spawn: spawn})
		}
		if given {
			in.turn[t]++
		}
	}
}

// roomFor is for how many items of a type children may come up on a host: where types take turns, for one, when it
// is the type's turn.
func (in *Intake) roomFor(name scheduler.HostName, t scheduler.TypeName, can Can) int {
	c := in.capacities[name]
	room := min(c.space(t), c.spawn[t])
	place := c.turn(t)
	if c.claimants == nil || place == 0 || room <= 0 {
		return room
	}
	for _, other := range c.claimants[:place-1] {
		if c.spawn[other.Type] <= 0 {
			continue
		}
		claims := can.Claim && !in.leaving && !in.excl.types[other.Type] && !slices.Contains(in.Locked, other.Type) &&
			in.mayHave(c, other.Type, true, can)
		items := slices.ContainsFunc(in.byAge(), func(q *msq) bool {
			n, _ := q.on(in, name)
			return q.job.Type == other.Type && n > 0 && !in.control.Pauses(other.Type)
		})
		if claims || items {
			return 0
		}
	}
	return min(room, 1)
}

// inTurn begins a list with the one whose turn it is.
func inTurn[T any](list []T, turn int) []T {
	if len(list) == 0 {
		return list
	}
	first := turn % len(list)
	return slices.Concat(list[first:], list[:first])
}

func (m MSQWaits) apply(in *Intake, _ time.Time, s *Step) {
	q := in.msqs[m.Claim.Job]
	if m.Job != nil && (q == nil || q.job.Claim != m.Claim) { // it came to another than us
		q = newMSQ(*m.Job, false)
		in.msqs[m.Claim.Job] = q
	}
	if q == nil || q.job.Claim != m.Claim {
		return
	}
	if q.waiting == 0 && m.Waiting > 0 && in.backlog.some { // its children may take no more lines, since it had none
		in.backlog.cut = true
	}
	q.waiting, q.names, q.reading, q.opening = m.Waiting, maps.Clone(m.Names), m.Reading, m.Opening
	for name := range q.names {
		in.locality.want(name)
	}
	in.nowhere(s)
	if len(in.locality.asked) > 0 {
		s.Ask = in.question()
	}
}

func (m MSQEnded) apply(in *Intake, _ time.Time, _ *Step) {
	delete(in.msqs, m.Job)
	in.ring++ // what its priority kept from starting may start
}

func (m Reconciled) apply(in *Intake, _ time.Time, _ *Step) {
	maps.DeleteFunc(in.msqs, func(_ scheduler.JobID, q *msq) bool { return !slices.Contains(m.MSQs, q.job.Claim) })
	in.ring++
	in.readmitted++
}

// nowhere tells MSQ jobs of names that no host answers to.
func (in *Intake) nowhere(s *Step) {
	for _, q := range in.byAge() {
		var names []string
		for name, n := range q.names {
			if hosts, known := in.locality.hostsOf(name); known && len(hosts) == 0 {
				names = append(names, name)
				q.waiting -= n
				delete(q.names, name)
			}
		}
		if len(names) > 0 {
			slices.Sort(names)
			s.Nowhere = append(s.Nowhere, Nowhere{q.job.Claim.Job, names})
		}
	}
}

// Split divides n free slots between the queue and the k MSQ jobs (of one type and equal priority) that have items:
// all count the same. turn rotates the odd ones, so that with one slot at a time each has its turn.
func Split(n, k, turn int, queue bool) (forQueue int, forMSQs []int) {
	takers := k
	if queue {
		takers++
	}
	forMSQs = make([]int, k)
	if takers == 0 {
		return 0, forMSQs
	}
	for i := range takers {
		got := n / takers
		if (i-turn%takers+takers)%takers < n%takers {
			got++
		}
		if queue && i == 0 {
			forQueue = got
		} else if queue {
			forMSQs[i-1] = got
		} else {
			forMSQs[i] = got
		}
	}
	return forQueue, forMSQs
}
