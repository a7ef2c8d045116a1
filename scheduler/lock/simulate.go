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
	Waited   time.Duration // how long ago it was submitted by then: its age counts from there
	Type     string
	Group    string // whose figures it counts for
	Share    string // its key among those that take turns; empty: none
	Locks    Set    // known from the beginning
	Asks     Set    // what it asks for when it has a slot, and waits for there
	Priority int
	Takes    time.Duration // from when it has all its locks
	Needs    []int         // the places of those that end before it comes
	Pause    time.Duration // from the last of these ends, before it comes
	Again    bool          // it is a later attempt of a job: nothing is counted of its wait
}

// submitted is when the job was submitted, since the beginning.
func (j Arrival) submitted() time.Duration { return j.At - j.Waited }

// Simulate lets jobs arrive at slots in virtual time, and starts them as the policy
// says. Jobs have ids in the order in which they were submitted.
func Simulate(jobs []Arrival, room Room, p Policy) Outcome {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(jobs[i].submitted(), jobs[j].submitted()) })
	at := make([]int, len(jobs)) // in the simulation
	for n, i := range order {
		at[i] = n
	}
	begin := time.Unix(0, 0)
	s := newSimulation(p, room, begin)
	s.jobs = make([]simulated, 0, len(jobs))
	for n, i := range order {
		j := &jobs[i]
		s.add(simulated{id: ID(n + 1), Arrival: j, arrives: begin.Add(j.At), since: begin.Add(j.submitted())})
		for _, need := range j.Needs {
			s.needs(n, at[need])
		}
	}
	s.chooser.limit(room.Max, s.types(), nil)
	s.takeTurnsBy(room.Shares)
	s.run()
	starts := make([]time.Duration, len(jobs))
	var worked, stood time.Duration
	for n, i := range order {
		j := &s.jobs[n]
		starts[i] = j.started.Sub(begin)
		each := time.Duration(s.slots(j.Type))
		worked, stood = worked+each*j.Takes, stood+each*j.started.Sub(j.slotted)
	}
	out := Was(jobs, starts, room.Slots)
	out.Order, out.Broken = s.policy.Order, s.broken
	if all := float64(out.Makespan) * float64(room.Slots); all > 0 {
		out.Utilisation, out.Contention = float64(worked)/all, float64(stood)/all
	}
	return out
}

// simulated is a job on its way through a simulation.
type simulated struct {
	id   ID
	seat ID // by which the backlog knows it: its id, or that of the job in whose place it starts
	*Arrival
	arrives, since   time.Time // not before it arrives; from when its age counts
	slotted, started time.Time
	lacks            int // of those that it needs, how many have not ended
}

// asks is what it waits for in its slot.
func (s *simulation) asks(j *simulated) Set {
	if s.policy.Order.waitsInSlot() {
		return j.Asks.Merge(j.Locks)
	}
	return j.Asks
}

// due is a moment of a job.
type due struct {
	at  time.Time
	job int
}

// aSlot stands for a job where a slot has rested, and no job ends.
const aSlot = -1

func dueBefore(a, b due) bool { return a.at.Before(b.at) || a.at.Equal(b.at) && a.job < b.job }

// simulation is a queue in virtual time. Jobs are told apart by their place in jobs.
type simulation struct {
	policy  Policy
	jobs    []simulated // by id, and by arrival
	waiting []*waiting
	free    int
	now     time.Time
	chooser *backlog
	pending []int  // of Ganeti's plain rule, which has no use for a backlog
	held    *Index // what is granted
	stuck   []int  // jobs that have a slot, and wait there for a lock
	ends    heap[due]
	comes   heap[due]     // the jobs to arrive
	needed  map[int][]int // those that need a job
	ranks   heap[due]     // when priorities and ages change
	rests   time.Duration // of a slot, between two jobs
	broken  int

	shared   map[string]bool // types in which keys take turns
	turnings map[line]*turning
	weights  map[string]map[string]float64 // of keys, by type
	spent    []*turning                    // those that a start has left empty
}

func newSimulation(p Policy, room Room, now time.Time) *simulation {
	b := newBacklog(p, now)
	b.each = room.Each
	return &simulation{policy: b.Policy, free: room.Slots, rests: room.Rests, now: now, chooser: b, held: NewIndex(),
		needed: map[int][]int{},
		comes:  heap[due]{less: dueBefore}, ends: heap[due]{less: dueBefore}, ranks: heap[due]{less: dueBefore}}
}

// slots is how many a job of a type takes.
func (s *simulation) slots(typ string) int { return max(1, s.chooser.each[typ]) }

func (s *simulation) add(j simulated) {
	j.seat = j.id
	s.jobs = append(s.jobs, j)
}

// needs has a job come after another's end.
func (s *simulation) needs(i, other int) {
	s.jobs[i].lacks++
	s.needed[other] = append(s.needed[other], i)
}

// types is a job of each type.
func (s *simulation) types() (list []Job) {
	seen := map[string]bool{}
	for i := range s.jobs {
		if typ := s.jobs[i].Type; !seen[typ] {
			seen[typ] = true
			list = append(list, Job{Type: typ})
		}
	}
	return list
}

// run goes from moment to moment until nothing is left to happen.
func (s *simulation) run() {
	s.waiting = make([]*waiting, len(s.jobs))
	for i := range s.jobs {
		if j := &s.jobs[i]; j.lacks == 0 && j.started.IsZero() {
			s.comes.push(due{j.arrives, i})
		}
	}
	for {
		switch {
		case len(s.ends.list) == 0 && len(s.stuck) > 0: // no running job is left to release a lock
			s.breakOne()
		case len(s.comes.list) > 0 && (len(s.ends.list) == 0 || !s.ends.list[0].at.Before(s.comes.list[0].at)):
			s.now = s.comes.list[0].at
		case len(s.ends.list) > 0:
			s.now = s.ends.list[0].at
		default:
			return
		}
		s.chooser.now = s.now
		for len(s.ends.list) > 0 && !s.ends.list[0].at.After(s.now) {
			s.end(s.ends.pop().job)
		}
		for len(s.comes.list) > 0 && !s.comes.list[0].at.After(s.now) {
			s.arrive(s.comes.pop().job)
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
	w := &waiting{id: j.id, place: j.id, at: i, set: j.Locks, typ: j.Type, priority: j.Priority, since: j.since}
	if s.policy.Order.waitsInSlot() {
		w.set = Set{}
	}
	w.setKey = w.set.key()
	s.lineUp(w)
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
		if w == nil {
			continue
		}
		s.chooser.again(w)
		if at, changes := s.chooser.nextRank(w); changes {
			s.ranks.push(due{at, i})
		}
	}
	s.chooser.pass(s.now, s.free, func(w *waiting, _ float64) {
		s.waiting[w.at] = nil
		s.start(s.takeTurn(w))
	})
	s.forgive()
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
		spv := s.chooser.running.Static(c, j.Locks, s.policy.Levels)
		list[n] = ranked{i, c.Priority(j.Priority, waited), spv * c.Factor(waited)}
	}
	slices.SortFunc(list, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.weight, y.weight), cmp.Compare(x.i, y.i))
	})
	n, free := 0, s.free
	for ; n < len(list) && s.slots(s.jobs[list[n].i].Type) <= free; n++ {
		free -= s.slots(s.jobs[list[n].i].Type)
	}
	for _, r := range list[:n] {
		s.chooser.runs(s.jobs[r.i].id, s.jobs[r.i].Locks)
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
	s.free -= s.slots(j.Type)
	if !s.policy.Order.waitsInSlot() {
		s.held.Add(j.id, j.Locks)
	}
	if !s.grant(i) {
		s.stuck = append(s.stuck, i)
	}
}

// grant gives a job what it asks for, and lets it work, unless another has that.
func (s *simulation) grant(i int) bool {
	j := &s.jobs[i]
	if asks := s.asks(j); !asks.Empty() {
		own := s.held.sets[j.id]
		if !own.Empty() {
			s.held.Remove(j.id) // it is not in its own way
		}
		_, _, blocked := s.held.Blocker(asks)
		s.held.Add(j.id, own)
		if blocked {
			return false
		}
		s.held.Add(j.id, asks)
		if !s.policy.Order.waitsInSlot() {
			s.chooser.runs(j.seat, asks)
		}
	}
	j.started = s.now
	s.ends.push(due{s.now.Add(j.Takes), i})
	return true
}

// end frees what a job has, and lets those come that need its end.
func (s *simulation) end(i int) {
	if i == aSlot {
		s.free++
		return
	}
	j := &s.jobs[i]
	for range s.slots(j.Type) {
		if s.rests > 0 {
			s.ends.push(due{s.now.Add(s.rests), aSlot})
		} else {
			s.free++
		}
	}
	s.held.Remove(j.id)
	s.chooser.end(j.seat)
	if s.chooser.byType != nil {
		s.chooser.byType[j.Type]++
		s.chooser.unpark(j.Type)
	}
	s.stuck = slices.DeleteFunc(s.stuck, s.grant) // in the order in which they came to wait
	for _, n := range s.needed[i] {
		next := &s.jobs[n]
		if next.lacks--; next.lacks == 0 {
			s.comes.push(due{later(next.arrives, s.now.Add(next.Pause)), n})
		}
	}
	delete(s.needed, i)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// breakOne fails the youngest of jobs that wait for each other.
func (s *simulation) breakOne() {
	waits := map[ID][]ID{}
	for _, i := range s.stuck {
		j := &s.jobs[i]
		for _, other := range slices.Sorted(maps.Keys(s.held.sets)) {
			if is, _ := Conflicts(s.asks(j), s.held.sets[other]); is && other != j.id {
				waits[j.id] = append(waits[j.id], other)
			}
		}
	}
	i := s.stuck[len(s.stuck)-1]
	if cycle := Cycle(waits); cycle != nil {
		i = s.stuck[slices.IndexFunc(s.stuck, func(x int) bool { return s.jobs[x].id == cycle[0] })]
	}
	s.stuck = slices.DeleteFunc(s.stuck, func(x int) bool { return x == i })
	j := &s.jobs[i]
	failed := *j.Arrival
	failed.Takes = 0
	j.started, j.Arrival = s.now, &failed
	s.broken++
	s.end(i)
}
