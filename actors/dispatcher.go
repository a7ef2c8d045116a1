package actors

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/scheduler"
)

// dispatcher brings demand and work together: hosts tell it what they can take
// (credits), one claim fetches as many jobs as one host can take, and it deals
// them out. It knows every claim that this instance holds.
type dispatcher struct {
	h *house
	// owned by Receive
	epoch   int // of this incarnation: answers to another's questions are not for us
	hosts   map[scheduler.HostName]*purse
	only    map[scheduler.HostName]*scheduler.Only // hosts that do not take every job
	types   []scheduler.TypeName                   // in order
	running map[scheduler.JobID]scheduler.Hold
	sources map[scheduler.JobID]*source
	ring    uint64 // grows with every reason to look at the queue
	again   uint64 // grows when jobs may have become ready that were there before
	// Of each type, whose turn the odd place is, between the queue and MSQ jobs.
	turn       map[scheduler.TypeName]int
	lastTurn   int  // whose the last claim was: the host's number in the order of their names, doubled; odd: for children to come up
	rung       bool // something rang, and nothing was claimed since
	ready      bool // registered, and our books agree with the database's
	claiming   bool
	alone      exclusion
	unsure     bool                     // a connection was lost: re-assert before the next claim
	sure       int                      // grows whenever unsure changes: what was read under another tells nothing
	doubtSince time.Time                // since when others have to re-assert, zero: they have
	strangers  map[scheduler.Claim]bool // what the last look found to be ours and we did not know of
	fenced     bool
	stopping   bool // claim nothing more
	finished   chan<- string
	looking    bool // a look at held rows is under way
	lookAt     bool // and another is wanted after it
	audit      *auditing
	auditDue   bool
	places     places
	crowds     crowds
	standing   scheduler.Standing // what operators want
	dueBusy    bool
	dueAgain   bool
	dueTimer   *time.Timer
	waitBusy   bool
	markTimer  *time.Timer
	markedAt   time.Time
	pause      *backoff.ExponentialBackOff
	ctx        context.Context
	cancel     context.CancelFunc
}

var incarnations atomic.Int64 // of dispatchers, of whatever tree

func newDispatcher(h *house) *dispatcher {
	only := map[scheduler.HostName]*scheduler.Only{}
	for _, spec := range h.Hosts {
		if spec.Takes != nil {
			only[spec.Name] = spec.Takes
		}
	}
	types := make([]scheduler.TypeName, len(h.Agents))
	for i, a := range h.Agents {
		types[i] = a.Name
	}
	slices.Sort(types)
	return &dispatcher{h: h, only: only, types: types, epoch: int(incarnations.Add(1)), hosts: map[scheduler.HostName]*purse{}, running: map[scheduler.JobID]scheduler.Hold{},
		sources: map[scheduler.JobID]*source{}, alone: newExclusion(h.Agents, h.ExclusiveAfter), turn: map[scheduler.TypeName]int{}, ring: 1,
		pause: backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0))}
}

// Messages of the dispatcher to itself, and from the ledger.
type (
	claimed struct { // a claim has come back
		epoch  int
		host   scheduler.HostName
		purse  uint64
		ring   uint64
		demand scheduler.Demand
		peek   bool // what it brought is not to be started
		jobs   []scheduler.Job
		err    error
	}
	resume     struct{ epoch int } // the pause after a failed claim is over
	unsure     struct{}            // a connection was lost: what is committed is not known
	reasserted struct {
		epoch int
		n     int
		not   []string // instances that have not
		err   error
	}
	dueDone struct {
		n        int
		next     time.Duration
		standing scheduler.Standing
		keyed    keyed
		lost     error // why keyed is not known
		err      error
	}
	markNow struct{}
	marked  struct{}
)

func (d *dispatcher) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		d.ctx, d.cancel = context.WithCancel(context.Background())
		d.ready = d.h.id() != 0 // another one before us has registered
		d.fenced = d.ready && d.h.leaseLeft(time.Now()) <= 0
		d.wantAudit(c) // our books are empty: what does the house know?
		d.due(c)
	case *joined:
		d.fenced, d.ready = false, true
		d.doubt()
		d.ring++
		d.again++
		d.wantAudit(c)
		d.due(c)
	case *fenced:
		d.fenced = true
	case *rang:
		d.onRang(c, m)
	case *cancelRang:
		d.lookAtHeld(c)
	case *held:
		d.onHeld(c, m)
	case *credits:
		d.onCredits(m)
	case *claimed:
		d.onClaimed(c, m)
	case *resume:
		if m.epoch == d.epoch {
			d.claiming = false
		}
	case *settled:
		d.onSettled(m)
	case *unsure:
		d.doubt()
	case *reasserted:
		d.onReasserted(c, m)
	case *audit:
		d.audit = nil // one under way may wait for whoever has just died
		d.wantAudit(c)
	case *reported:
		d.onReported(c, m)
	case *auditReady:
		d.closeAudit(c, m)
	case *auditOver:
		d.endAudit(c, m)
	case *rows:
		d.onRows(c, m)
	case *ungrant:
		d.refund(m.Host, m.Epoch, m.Type, m.Now, m.Spawn)
	case *closed:
		delete(d.sources, m.Claim.Job)
		d.h.tell(roleHosts, m) // what it was granted and did not use
		d.ring++               // what its priority kept from starting may start
	case *dueNow:
		d.due(c)
	case *dueDone:
		d.onDue(c, m)
	case *lookAtCrowds:
	case *crowdsSeen:
		d.onCrowds(m)
	case *markNow:
		d.markTimer = nil
		d.mark(c, 0)
	case *marked:
		d.waitBusy = false
	case *describe:
		m.tell(holding(len(d.running)))
		return
	case *finish:
		d.stopping, d.finished = true, m.done
		for name := range d.hosts { // items go on; nobody else comes up
			d.h.tell(roleHost(name), &crowded{})
		}
	case *actor.Stopping:
		d.cancel()
		for _, t := range []*time.Timer{d.dueTimer, d.markTimer, d.crowds.timer} {
			if t != nil {
				t.Stop()
			}
		}
		return
	default:
		return
	}
	d.next(c)
	d.tellDraining()
}

// next does what can be done now: items first, since they need no claim.
func (d *dispatcher) next(c actor.Context) {
	if d.finished != nil && len(d.running) == 0 && !d.claiming {
		d.finished <- roleDispatcher
		d.finished = nil
	}
	if !d.ready || d.fenced {
		return
	}
	d.feedSources()
	if d.claiming || d.audit != nil {
		return
	}
	if d.unsure {
		d.reassert(c)
		return
	}
	if d.auditDue {
		d.startAudit(c)
		return
	}
	if d.stopping || d.h.outbox.full() { // what is settled brings us back
		return
	}
	d.lookAtCrowds(c)
	exclusive, others := d.alone.may(len(d.running), time.Now())
	claiming := exclusive && d.claimNext(c, true) || d.peekNext(c) || others && d.claimNext(c, false)
	if !claiming && d.rung {
		d.h.tell(roleGate, noRoom) // nothing is dry after a ring: nobody can take anything
	}
	d.rung = false
}

// claimNext claims for the next host that can take something, in turn: first
// what children who are up can take, then, at its next turn, what others could
// come up for. A type that is always busy keeps nobody waiting. Of
// exclusive types it is one job. It reports whether there was anything to ask for.
func (d *dispatcher) claimNext(c actor.Context, exclusive bool) bool {
	names := slices.Sorted(maps.Keys(d.hosts))
	for range 2 * len(names) {
		d.lastTurn = (d.lastTurn + 1) % (2 * len(names))
		name, assigned := names[d.lastTurn/2], d.lastTurn%2 == 1
		demand := d.demand(name, assigned, exclusive)
		if exclusive {
			demand = one(demand)
		}
		if len(demand.Types) > 0 {
			d.claim(c, name, demand)
			return true
		}
	}
	return false
}

func (d *dispatcher) onRang(c actor.Context, m *rang) {
	d.ring++
	d.rung = true
	if !m.look && !m.inserted {
		d.again++
	}
	if m.look {
		return
	}
	if m.scan {
		d.alone.scan(time.Now())
		d.lookAtHeld(c)
		d.due(c)
		d.mark(c, d.h.id())
	} else if d.markTimer == nil { // a type that nobody serves may have come
		self := c.Self()
		wait := max(time.Second, time.Until(d.markedAt.Add(d.h.Scan))) // it takes the server longer than a claim
		d.markTimer = time.AfterFunc(wait, func() { d.h.system.Root.Send(self, &markNow{}) })
	}
}

func (d *dispatcher) claim(c actor.Context, name scheduler.HostName, demand scheduler.Demand) {
	p := d.hosts[name]
	p.reserve(demand)
	for _, t := range demand.Types {
		d.turn[t.Type]++
	}
	d.send(c, &claimed{host: name, purse: p.epoch, demand: demand})
}

// send sends a claim on its way.
func (d *dispatcher) send(c actor.Context, m *claimed) {
	d.claiming = true
	m.epoch, m.ring = d.epoch, d.ring
	h, ctx, self := d.h, d.ctx, c.Self()
	go func() {
		m.jobs, m.err = h.Queue.Claim(ctx, h.id(), m.demand)
		h.system.Root.Send(self, m)
	}()
}

func (d *dispatcher) onClaimed(c actor.Context, m *claimed) {
	if m.epoch != d.epoch {
		return // the audit of this incarnation finds what it took
	}
	if m.err != nil {
		wait := d.pause.NextBackOff()
		d.h.Log.Warn("dispatcher: cannot claim", "error", m.err, "again_in", wait)
		d.doubt()
		self, epoch := c.Self(), d.epoch
		time.AfterFunc(wait, func() { d.h.system.Root.Send(self, &resume{epoch}) })
	} else {
		d.pause.Reset()
		d.claiming = false
	}
	p := d.hosts[m.host]
	now := time.Now()
	if m.peek {
		d.onPeeked(m)
		return
	}
	if len(m.jobs) > 0 && d.alone.types[m.jobs[0].Type] {
		d.alone.started()
	}
	got, used := map[scheduler.TypeName]int{}, map[scheduler.TypeName]int{}
	dealt := map[scheduler.TypeName]*deal{}
	var all deals
	for i := range m.jobs {
		j := &m.jobs[i]
		got[j.Type]++
		if _, here := d.running[j.Claim.Job]; here {
			// Its last run is not over here (it was lost, and is being ended).
			d.h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim, Attempt: j.Attempt})
			continue
		}
		if !d.h.mayBegin(&j.Line, now) { // it took so long that we may be taken for dead
			d.h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: j.Claim, Attempt: j.Attempt})
			continue
		}
		d.running[j.Claim.Job] = scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: m.host}
		if j.MSQ != "" {
			d.sources[j.Claim.Job] = &source{job: *j, opening: true}
			d.h.tell(roleMSQs, &open{*j})
			continue
		}
		used[j.Type]++
		dl := dealt[j.Type]
		if dl == nil {
			dl = &deal{Epoch: p.epoch, Type: j.Type}
			dealt[j.Type] = dl
			all = append(all, dl)
		}
		dl.Lines = append(dl.Lines, j.Line)
	}
	if m.err == nil {
		for _, t := range m.demand.Types {
			if m.demand.Assigned && got[t.Type] == 0 && slices.Contains(p.making, t.Type) {
				if d.crowds.doubt == nil {
					d.crowds.doubt = map[scheduler.TypeName]bool{}
				}
				d.crowds.doubt[t.Type] = true
			}
			if got[t.Type] < t.Most && len(m.jobs) < m.demand.Total {
				if len(m.demand.Rivals) > 0 { // it may be for their sake
					p.kept[t.Type], d.crowds.cut = m.ring, true
				} else {
					p.dry[t.Type] = m.ring
				}
			}
		}
	}
	p.spent(m.purse, m.demand, used)
	if len(all) > 0 {
		d.h.tell(roleHost(m.host), all)
	}
	if m.err == nil {
		d.h.tell(roleGate, took(len(m.jobs)))
	}
}

func (d *dispatcher) onSettled(m *settled) {
	// No trigger rings for what was given back. What we claimed while its last
	// run was not over is left to the next scan: it would come again and again.
	if slices.ContainsFunc(m.Back, func(c scheduler.Claim) bool { return d.running[c.Job].Claim == c }) {
		d.ring++
		d.again++
	}
	// A stale start is not the end of it: until its child has let go of the job,
	// it is not claimed anew. Its fence could be the same.
	for _, c := range m.Claims {
		if d.running[c.Job].Claim == c {
			delete(d.running, c.Job)
		}
		if d.audit != nil {
			d.audit.settled[c] = true
		}
	}
	if len(m.Stale) > 0 { // should something still run for them
		d.h.tell(roleHosts, &drop{m.Stale})
		d.h.tell(roleMSQs, &drop{m.Stale})
	}
}
