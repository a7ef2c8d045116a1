package lock

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Arrival is a job of a simulation.
type Arrival struct {
	At       time.Duration // when it comes, since the beginning
	Type     string
	Locks    Set // known from the beginning
	Asks     Set // what it asks for when it has a slot, and waits for there
	Priority int
	Takes    time.Duration // from when it has all its locks
}

// Simulate lets jobs arrive at slots in virtual time, and starts them as the policy
// says. Jobs have ids in the order in which they arrive.
func Simulate(jobs []Arrival, slots int, p Policy) Outcome {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(jobs[i].At, jobs[j].At) })
	begin := time.Unix(0, 0)
	s := newSimulation(p, slots, begin)
	for n, i := range order {
		j := jobs[i]
		s.add(simulated{id: ID(n + 1), arrives: begin.Add(j.At), since: begin.Add(j.At), typ: j.Type, known: j.Locks,
			asks: j.Asks, priority: j.Priority, takes: j.Takes})
	}
	s.run()
	starts := make([]time.Duration, len(jobs))
	var worked, stood time.Duration
	for n, i := range order {
		j := &s.jobs[n]
		starts[i] = j.started.Sub(begin)
		worked, stood = worked+j.takes, stood+j.started.Sub(j.slotted)
	}
	out := Was(jobs, starts, slots)
	out.Order, out.Broken = s.policy.Order, s.broken
	if len(jobs) == 0 {
		return out
	}
	out.Makespan = s.last.Sub(begin) - jobs[order[0]].At
	if all := float64(out.Makespan) * float64(slots); all > 0 {
		out.Utilisation, out.Contention = float64(worked)/all, float64(stood)/all
	}
	return out
}

// simulated is a job on its way through a simulation.
type simulated struct {
	id                        ID
	arrives, since            time.Time
	typ                       string
	known, asks               Set
	priority                  int
	takes                     time.Duration
	slotted, started, endedAt time.Time
}

// due is a moment of a job.
type due struct {
	at  time.Time
	job int
}

func dueBefore(a, b due) bool { return a.at.Before(b.at) || a.at.Equal(b.at) && a.job < b.job }

// simulation is a queue in virtual time. Jobs are told apart by their place in jobs.
type simulation struct {
	policy  Policy
	jobs    []simulated // by id, and by arrival
	waiting []*waiting
	free    int
	now     time.Time
	last    time.Time
	chooser *backlog
	pending []int      // of Ganeti's plain rule, which has no use for a backlog
	held    *Index     // what is granted
	place   map[ID]int // in jobs
	stuck   []int      // jobs that have a slot, and wait there for a lock
	ends    heap[due]
	next    int       // the next job to arrive
	ranks   heap[due] // when priorities and ages change
	broken  int
}

func newSimulation(p Policy, slots int, now time.Time) *simulation {
	b := newBacklog(p, now)
	return &simulation{policy: b.Policy, free: slots, now: now, last: now, chooser: b, held: NewIndex(),
		place: map[ID]int{},
		ends:  heap[due]{less: dueBefore}, ranks: heap[due]{less: dueBefore}}
}

func (s *simulation) add(j simulated) {
	if s.policy.Order.waitsInSlot() {
		j.asks = j.asks.Merge(j.known)
	}
	s.place[j.id] = len(s.jobs)
	s.jobs = append(s.jobs, j)
}

// run goes from moment to moment until nothing is left to happen.
func (s *simulation) run() {
	s.waiting = make([]*waiting, len(s.jobs))
	for {
		switch {
		case len(s.ends.list) == 0 && len(s.stuck) > 0: // no running job is left to release a lock
			s.breakOne()
		case s.next < len(s.jobs) && (len(s.ends.list) == 0 || !s.ends.list[0].at.Before(s.jobs[s.next].arrives)):
			s.now = s.jobs[s.next].arrives
		case len(s.ends.list) > 0:
			s.now = s.ends.list[0].at
		default:
			return
		}
		s.chooser.now = s.now
		for len(s.ends.list) > 0 && !s.ends.list[0].at.After(s.now) {
			s.end(s.ends.pop().job)
		}
		for ; s.next < len(s.jobs) && !s.jobs[s.next].arrives.After(s.now); s.next++ {
			s.arrive(s.next)
		}
		s.pass()
	}
}

func (s *simulation) arrive(i int) {
	j := &s.jobs[i]
	if s.policy.Order == Ganeti {
		s.pending = append(s.pending, i)
		return
	}
	w := &waiting{id: j.id, set: j.known, typ: j.typ, priority: j.priority, since: j.since}
	if s.policy.Order.waitsInSlot() {
		w.set = Set{}
	}
	w.setKey = w.set.key()
	s.waiting[i] = w
	s.chooser.add(w)
	if at, changes := s.chooser.nextRank(w); changes {
		s.ranks.push(due{at, i})
	}
}

// pass starts what may start now.
func (s *simulation) pass() {
	if s.policy.Order == Ganeti {
		s.plain()
		return
	}
	for len(s.ranks.list) > 0 && !s.ranks.list[0].at.After(s.now) {
		i := s.ranks.pop().job
		w := s.waiting[i]
		if w.in == nil {
			continue
		}
		s.chooser.again(w)
		if at, changes := s.chooser.nextRank(w); changes {
			s.ranks.push(due{at, i})
		}
	}
	s.chooser.pass(s.now, s.free, func(w *waiting, _ float64) { s.start(s.place[w.id]) })
}

// plain is a pass of Ganeti's: weights are of its beginning, beside what the
// jobs that have a slot have declared.
func (s *simulation) plain() {
	if s.free <= 0 || len(s.pending) == 0 {
		return
	}
	type ranked struct {
		i, priority int
		weight      float64
	}
	c := s.policy.Constants
	list := make([]ranked, len(s.pending))
	for n, i := range s.pending {
		j, waited := &s.jobs[i], s.now.Sub(s.jobs[i].since)
		spv := s.chooser.running.Static(c, j.known, s.policy.Levels)
		list[n] = ranked{i, c.Priority(j.priority, waited), spv * c.Factor(waited)}
	}
	slices.SortFunc(list, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.weight, y.weight), cmp.Compare(x.i, y.i))
	})
	n := min(s.free, len(list))
	for _, r := range list[:n] {
		s.chooser.runs(s.jobs[r.i].id, s.jobs[r.i].known)
		s.start(r.i)
	}
	s.pending = s.pending[:0]
	for _, r := range list[n:] {
		s.pending = append(s.pending, r.i)
	}
}

// start gives a job a slot, and what it is known to need.
func (s *simulation) start(i int) {
	j := &s.jobs[i]
	j.slotted = s.now
	s.free--
	if !s.policy.Order.waitsInSlot() {
		s.held.Add(j.id, j.known)
	}
	if !s.grant(i) {
		s.stuck = append(s.stuck, i)
	}
}

// grant gives a job what it asks for, and lets it work, unless another has that.
func (s *simulation) grant(i int) bool {
	j := &s.jobs[i]
	if !j.asks.Empty() {
		own := s.held.sets[j.id]
		if !own.Empty() {
			s.held.Remove(j.id) // it is not in its own way
		}
		_, _, blocked := s.held.Blocker(j.asks)
		s.held.Add(j.id, own)
		if blocked {
			return false
		}
		s.held.Add(j.id, j.asks)
		if !s.policy.Order.waitsInSlot() {
			s.chooser.runs(j.id, j.asks)
		}
	}
	j.started, j.endedAt = s.now, s.now.Add(j.takes)
	s.ends.push(due{j.endedAt, i})
	return true
}

// end frees what a job has.
func (s *simulation) end(i int) {
	j := &s.jobs[i]
	s.free++
	s.last = s.now
	s.held.Remove(j.id)
	s.chooser.end(j.id)
	if s.chooser.byType != nil {
		s.chooser.byType[j.typ]++
		s.chooser.unpark(j.typ)
	}
	s.stuck = slices.DeleteFunc(s.stuck, s.grant) // in the order in which they came to wait
}

// breakOne fails the youngest of jobs that wait for each other.
func (s *simulation) breakOne() {
	waits := map[ID][]ID{}
	for _, i := range s.stuck {
		j := &s.jobs[i]
		for _, other := range slices.Sorted(maps.Keys(s.held.sets)) {
			if is, _ := Conflicts(j.asks, s.held.sets[other]); is && other != j.id {
				waits[j.id] = append(waits[j.id], other)
			}
		}
	}
	i := s.stuck[len(s.stuck)-1]
	if cycle := Cycle(waits); cycle != nil {
		i = s.place[cycle[0]]
	}
	s.stuck = slices.DeleteFunc(s.stuck, func(x int) bool { return x == i })
	j := &s.jobs[i]
	j.started, j.endedAt, j.takes = s.now, s.now, 0
	s.broken++
	s.end(i)
}
