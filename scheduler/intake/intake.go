// Package intake decides which jobs this instance asks for next, for which host, and how claimed jobs are dealt
// there. It knows credits, types and turns. It does not know PostgreSQL, actors or clocks.
//
// An Intake is told what happened (Apply) and asked what to do (Next). Both
// answer with a Step: effects as data, for the dispatcher to carry out.
package intake

import (
	"slices"
	"time"

	"bellhop/scheduler"
)

// Config is what an instance is to do; Reshaped changes some of it.
type Config struct {
	Types          []scheduler.TypeName // that there are agents for
	Exclusive      []scheduler.TypeName // of these, the ones beside which nothing runs
	Locked         []scheduler.TypeName // of these, the ones whose agents say which locks all their jobs need
	ExclusiveAfter time.Duration
	Takes          map[scheduler.TypeName]scheduler.Takes // what their children take of a host; not there: a slot
	Hosts          []Host
	Cursors        int                // MSQ jobs at once
	RowType        scheduler.TypeName // there are no jobs of it while no tables are attached; empty: no such type
	Locates        bool               // a query of the user's says where names are that no host serves
	Warm           bool               // claims are kept warm
	LocateAgain    time.Duration      // for how long its answer holds when it knew no host
}

// Host is a host of this instance.
type Host struct {
	scheduler.Locality
	Takes *scheduler.Only // nil: every job
}

// Intake is the whole decision. It starts with New.
type Intake struct {
	Config
	takes      map[scheduler.HostName]*scheduler.Only // of hosts that do not take every job
	capacities map[scheduler.HostName]*capacity
	msqs       map[scheduler.JobID]*msq
	ring       uint64 // grows with every reason to look at the queue
	readmitted uint64 // grows when jobs may have become ready that were there before
	scans      uint64 // how often of these there was no sign of it
	// Of each type, whose turn the odd slot is, between the queue and MSQ jobs.
	turn map[scheduler.TypeName]int
	// Whose the last claim was: the host's number in the order of their names,
	// doubled; odd: for children to come up.
	lastTurn int
	feeds    int // how often MSQ jobs were granted something
	// The types of the last claim, which may be under way; none: it was a pass, which asks for no job without locks.
	asked    []scheduler.TypeDemand
	askedAt  time.Time
	late     bool // that claim is under way for so long that nothing is kept for the queue meanwhile
	dirty    bool // something rang, and nothing was claimed since
	leaving  bool // nothing more is claimed
	excl     exclusion
	locality locality
	backlog  backlog
	control  scheduler.ControlState
	passes   passes
	warmth   warmth
}

// New makes one that knows of no credits yet.
func New(cfg Config) *Intake {
	cfg.Types = claimable(cfg.Types)
	in := &Intake{
		Config:     cfg,
		takes:      map[scheduler.HostName]*scheduler.Only{},
		capacities: map[scheduler.HostName]*capacity{},
		msqs:       map[scheduler.JobID]*msq{},
		turn:       map[scheduler.TypeName]int{},
		ring:       1,
		excl:       newExclusion(cfg.Exclusive, cfg.ExclusiveAfter),
	}
	in.passes.wanted = len(cfg.Locked) > 0
	for _, h := range cfg.Hosts {
		if h.Takes != nil {
			in.takes[h.Host] = h.Takes
		}
		in.locality.hosts = append(in.locality.hosts, h.Locality)
	}
	in.locality.locates = cfg.Locates
	return in
}

// Can is what the dispatcher is able to carry out just now.
type Can struct {
	Grant    bool // registered, and the lease lasts
	Claim    bool // and a claim may be sent: none is under way, and nothing has to be found out before
	Claiming bool // a claim is under way, or not known to be over
	Attached bool // there are attached tables
	Running  int  // how many claims this instance holds
}

// Step is what to do, in this order.
type Step struct {
	Dispatch []Dispatch // what came with a claim
	Backlogs []Waiting  // hosts to be told what waits for them
	Nowhere  []Nowhere  // MSQ jobs to be told that no host serves a name
	Grants   []Grant    // to MSQ jobs
	Ask      *Question  // what the next look at names has to find out; soon, if it has names that are Asked
	Read     *Read      // what waits for full hosts is to be read: BacklogRead
	ReadAt   time.Time  // or it is to be asked again then; zero: neither
	WarmAt   time.Time  // it is to be asked again then, too, to keep claims warm
	Claim    *Claim     // to be sent: Claimed. At most one is under way
	Full     bool       // woken, and no host has a free credit
	Draining *bool      // whether nothing else starts because of an exclusive job that waits: that has changed
}

// Dispatch is work for a host, paid with its credits of Epoch.
type Dispatch struct {
	Host  scheduler.HostName
	Epoch uint64
	Type  scheduler.TypeName
	Lines []scheduler.Line
	// Recount: these lines have spent slots that other credits counted too, and the host counts its credits anew.
	Recount bool
}

// Claim is one claim to be made.
type Claim struct {
	Demand scheduler.Demand
	Epoch  uint64 // of the host's credits that were reserved for it
	Probe  bool   // what it brings is not to be started: it is to learn whether one waits
}

// Event is something that happened.
type Event interface {
	apply(*Intake, time.Time, *Step)
}

type (
	// Woken: there is a reason to look at the queue.
	Woken struct {
		Rang       bool // something rang: when no host has a free credit, the gate is told
		Readmitted bool // jobs may have become ready that were there before
		Scan       bool // it is the safety scan
	}
	// Promoted: a look at what the clock makes ready is over; Some was.
	Promoted struct{ Some bool }
	// Controlled: what operators want now.
	Controlled struct{ State scheduler.ControlState }
	// Leaving: claim nothing more. MSQ jobs that run go on to their end.
	Leaving struct{}
	// Claimed: a claim has come back.
	Claimed struct {
		Claim   Claim
		Jobs    []scheduler.Job            // to be started here
		Refused map[scheduler.TypeName]int // how many others came, and go back
		Failed  bool                       // what it brought is not all that there was
	}
)

// Apply takes what happened. What follows from it at once is in the Step; what
// it makes possible is what Next finds.
func (in *Intake) Apply(ev Event, now time.Time) (s Step) {
	ev.apply(in, now, &s)
	return s
}

// Next is what can be done now: items first, since they need no claim.
func (in *Intake) Next(can Can, now time.Time) (s Step) {
	in.decide(can, now, &s)
	if told := &in.excl.told; *told != in.excl.draining {
		*told = in.excl.draining
		draining := *told
		s.Draining = &draining
	}
	return s
}

func (in *Intake) decide(can Can, now time.Time, s *Step) {
	if !can.Grant {
		return
	}
	in.late = can.Claiming && now.Sub(in.askedAt) > claimPatience
	in.feed(can, s)
	if !can.Claim || in.leaving {
		return
	}
	in.readBacklog(can, now, s)
	exclusive, others := in.excl.may(can.Running, now)
	if exclusive {
		s.Claim = in.claimOf(true, can)
	}
	if s.Claim == nil {
		s.Claim = in.probeNext()
	}
	if s.Claim == nil && others {
		s.Claim = in.claimOf(false, can)
	}
	// Woken, and no host has a free credit. The gate is told: producers need not ring for this instance now.
	s.Full = s.Claim == nil && in.dirty
	in.dirty = false
	if s.Claim == nil && others {
		s.Claim, s.WarmAt = in.keepWarm(can, now)
	}
	in.asked, in.askedAt = nil, now
	if s.Claim != nil && !s.Claim.Demand.Locked {
		in.asked = s.Claim.Demand.Types
	}
}

// claimPatience is how long a claim may be under way before items get the queue's turns, too: the database may be away.
const claimPatience = time.Second

// dormant reports whether there can be no job of a type just now.
func (in *Intake) dormant(t scheduler.TypeName, can Can) bool {
	return t == in.RowType && !can.Attached
}

func (m Woken) apply(in *Intake, now time.Time, _ *Step) {
	in.ring++
	in.dirty = in.dirty || m.Rang
	if len(in.Locked) > 0 { // any of them may have come
		in.passes.again()
	}
	if m.Readmitted {
		in.readmitted++
		in.passes.again()
	}
	if m.Scan {
		if m.Readmitted {
			in.scans++
		}
		in.passes.again()
		in.excl.scan(now)
	}
}

func (m Promoted) apply(in *Intake, _ time.Time, _ *Step) {
	in.readmitted++
	if !m.Some {
		in.scans++
		return
	}
	in.ring++
	in.passes.again()
}

func (m Controlled) apply(in *Intake, _ time.Time, _ *Step) {
	if !slices.Equal(m.State.Paused, in.control.Paused) {
		in.ring++ // what was paused may start
		in.passes.again()
	}
	in.control = m.State
	in.passes.found(m.State.Locks || len(in.Locked) > 0)
}

func (m Leaving) apply(in *Intake, _ time.Time, s *Step) {
	in.leaving = true
	for _, name := range in.hostNames() { // items go on; no child makes room any more
		s.Backlogs = append(s.Backlogs, Waiting{Host: name})
	}
}

func (m Claimed) apply(in *Intake, now time.Time, s *Step) {
	in.warmed(m, now)
	if m.Claim.Probe {
		if !m.Failed {
			in.excl.asked(m.Claim.Demand.Types[0].Type, len(m.Jobs)+len(m.Refused) > 0)
		}
		return
	}
	if demand := m.Claim.Demand; len(m.Jobs)+len(m.Refused) > 0 && len(demand.Types) > 0 &&
		in.excl.types[demand.Types[0].Type] {
		in.excl.started()
	}
	c := in.capacities[m.Claim.Demand.Host]
	got, used, at := map[scheduler.TypeName]int{}, map[scheduler.TypeName]int{}, map[scheduler.TypeName]int{}
	brought := len(m.Jobs)
	for t, n := range m.Refused {
		got[t] += n
		brought += n
	}
	for i := range m.Jobs {
		j := &m.Jobs[i]
		got[j.Type]++
		if j.MSQ != "" {
			in.msqs[j.Claim.Job] = newMSQ(*j, true)
			continue
		}
		i, some := at[j.Type]
		if used[j.Type]++; !some {
			i = len(s.Dispatch)
			at[j.Type] = i
			s.Dispatch = append(s.Dispatch, Dispatch{Host: m.Claim.Demand.Host, Epoch: c.epoch, Type: j.Type,
				Lines: make([]scheduler.Line, 0, len(m.Jobs)/max(1, len(m.Claim.Demand.Types)))})
		}
		s.Dispatch[i].Lines = append(s.Dispatch[i].Lines, j.Line)
	}
	switch {
	case m.Failed:
	case m.Claim.Demand.Locked:
		in.passes.learn(m.Claim.Demand, brought)
	default:
		in.learn(m.Claim.Demand, c, got, brought)
	}
	c.settle(m.Claim.Epoch, m.Claim.Demand, used)
	if m.Claim.Demand.Assigned {
		for t, n := range used {
			c.took(t, n)
			c.use(t, n)
		}
	}
	if n := len(s.Dispatch); n > 0 {
		s.Dispatch[n-1].Recount = c.spend(m.Claim.Demand.Assigned)
	}
}
