package actors

import (
	"cmp"
	"context"
	"maps"
	"slices"
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
	running map[scheduler.JobID]scheduler.Hold
	sources map[scheduler.JobID]*source
	ring    uint64 // grows with every reason to look at the queue
	// Of each type, whose turn the odd place is, between the queue and MSQ jobs.
	turn      map[scheduler.TypeName]int
	ready     bool // registered, and our books agree with the database's
	claiming  bool
	unsure    bool // a connection was lost: re-assert before the next claim
	fenced    bool
	stopping  bool // claim nothing more
	finished  chan<- string
	looking   bool // a look at held rows is under way
	lookAt    bool // and another is wanted after it
	audit     *auditing
	auditDue  bool
	dueBusy   bool
	dueAgain  bool
	dueTimer  *time.Timer
	waitBusy  bool
	markTimer *time.Timer
	pause     *backoff.ExponentialBackOff
	ctx       context.Context
	cancel    context.CancelFunc
}

// purse is what one host can take, as it told us.
type purse struct {
	epoch   uint64
	now     map[scheduler.TypeName]int
	room    int
	spawn   map[scheduler.TypeName]int
	answers []string
	dry     map[scheduler.TypeName]uint64 // the ring after which the queue had nothing for it
}

// source is an MSQ job that runs here.
type source struct {
	job     scheduler.Job
	waiting int  // items that want a child
	reading bool // more may come
	opening bool // nothing heard yet: a place is kept for it
}

var incarnations int // of dispatchers; only their constructor, one at a time, touches it

func newDispatcher(h *house) *dispatcher {
	incarnations++
	return &dispatcher{h: h, epoch: incarnations, hosts: map[scheduler.HostName]*purse{}, running: map[scheduler.JobID]scheduler.Hold{},
		sources: map[scheduler.JobID]*source{}, turn: map[scheduler.TypeName]int{}, ring: 1,
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
		jobs   []scheduler.Job
		err    error
	}
	resume     struct{ epoch int } // the pause after a failed claim is over
	unsure     struct{}            // a connection was lost: what is committed is not known
	reasserted struct {
		epoch int
		n     int
		err   error
	}
	dueDone struct {
		n    int
		next time.Duration
		err  error
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
		d.unsure = true
		d.ring++
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
		d.unsure = true
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
		d.onRows(m)
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
	case *markNow:
		d.markTimer = nil
		d.mark(c)
	case *marked:
		d.waitBusy = false
	case *finish:
		d.stopping, d.finished = true, m.done
	case *actor.Stopping:
		d.cancel()
		for _, t := range []*time.Timer{d.dueTimer, d.markTimer} {
			if t != nil {
				t.Stop()
			}
		}
		return
	default:
		return
	}
	d.next(c)
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
	if d.stopping {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.hosts)) {
		if demand := d.demand(name); len(demand.Types) > 0 {
			d.claim(c, name, demand)
			return
		}
	}
}

func (d *dispatcher) onRang(c actor.Context, m *rang) {
	d.ring++
	if m.scan {
		d.lookAtHeld(c)
		d.due(c)
		d.mark(c)
	} else if d.markTimer == nil { // a type that nobody serves may have come
		self := c.Self()
		d.markTimer = time.AfterFunc(time.Second, func() { d.h.system.Root.Send(self, &markNow{}) })
	}
}

func (d *dispatcher) onCredits(m *credits) {
	p := d.hosts[m.Host]
	if p == nil {
		p = &purse{dry: map[scheduler.TypeName]uint64{}}
		d.hosts[m.Host] = p
	}
	if p.epoch != m.Epoch {
		p.epoch, p.room, p.now = m.Epoch, 0, map[scheduler.TypeName]int{}
	}
	for t, n := range m.Now {
		p.now[t] += n
	}
	p.room += m.Room
	p.spawn, p.answers = maps.Clone(m.Spawn), m.Answers // the host keeps its own to compare with
}

// refund puts unused credits back, if the host still counts them.
func (d *dispatcher) refund(host scheduler.HostName, epoch uint64, t scheduler.TypeName, now, spawn int) {
	if p := d.hosts[host]; p != nil && p.epoch == epoch {
		p.now[t] += now
		p.room += spawn
		p.spawn[t] += spawn
	}
}

// demand is what one claim for a host may fetch: for every type that the queue
// may have something of, the lines that its children can take and those for
// which children could come up.
func (d *dispatcher) demand(name scheduler.HostName) scheduler.Demand {
	p := d.hosts[name]
	demand := scheduler.Demand{Host: name, Answers: p.answers, Total: p.room, MSQ: len(d.sources) < d.h.Cursors}
	types := map[scheduler.TypeName]bool{}
	for t := range p.now {
		types[t] = true
	}
	for t := range p.spawn {
		types[t] = true
	}
	for _, t := range slices.Sorted(maps.Keys(types)) {
		now := p.now[t]
		most := now + min(p.spawn[t], p.room)
		worst := 19
		for _, s := range d.sources {
			if s.job.Type != t {
				continue
			}
			if s.opening { // it is about to take a place
				most--
				now = min(now, most)
			} else if s.waiting > 0 {
				worst = min(worst, s.job.Priority)
			}
		}
		if most > 0 && p.dry[t] != d.ring {
			demand.Types = append(demand.Types, scheduler.TypeDemand{Type: t, AtOnce: now, Most: most, Worst: worst})
			demand.Total += now
		}
	}
	return demand
}

func (d *dispatcher) claim(c actor.Context, name scheduler.HostName, demand scheduler.Demand) {
	p := d.hosts[name]
	// Reserved until the claim is back, so that items do not take the same places.
	for _, t := range demand.Types {
		p.now[t.Type] -= t.AtOnce
		d.turn[t.Type]++
	}
	reservedRoom := demand.Total
	for _, t := range demand.Types {
		reservedRoom -= t.AtOnce
	}
	p.room -= reservedRoom
	d.claiming = true
	h, ctx, self := d.h, d.ctx, c.Self()
	m := &claimed{epoch: d.epoch, host: name, purse: p.epoch, ring: d.ring, demand: demand}
	go func() {
		m.jobs, m.err = h.Queue.Claim(ctx, h.id(), demand)
		h.system.Root.Send(self, m)
	}()
}

func (d *dispatcher) onClaimed(c actor.Context, m *claimed) {
	if m.epoch != d.epoch {
		return // the audit of this incarnation finds what it took
	}
	p := d.hosts[m.host]
	left := map[scheduler.TypeName]int{}
	room := m.demand.Total
	for _, t := range m.demand.Types {
		left[t.Type] = t.AtOnce
		room -= t.AtOnce
	}
	if m.err != nil {
		wait := d.pause.NextBackOff()
		d.h.Log.Warn("dispatcher: cannot claim", "error", m.err, "again_in", wait.Round(time.Millisecond))
		d.unsure = true
		self, epoch := c.Self(), d.epoch
		time.AfterFunc(wait, func() { d.h.system.Root.Send(self, &resume{epoch}) })
	} else {
		d.pause.Reset()
		d.claiming = false
	}
	now := time.Now()
	got := map[scheduler.TypeName]int{}
	deals := map[scheduler.TypeName]*deal{}
	var order []scheduler.TypeName
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
		if j.Assigned {
			room--
		} else {
			left[j.Type]--
		}
		dl := deals[j.Type]
		if dl == nil {
			dl = &deal{Epoch: m.purse, Type: j.Type}
			deals[j.Type] = dl
			order = append(order, j.Type)
		}
		dl.Lines = append(dl.Lines, j.Line)
	}
	if m.err == nil {
		for _, t := range m.demand.Types {
			if got[t.Type] < t.Most && len(m.jobs) < m.demand.Total {
				p.dry[t.Type] = m.ring
			}
		}
	}
	if p != nil && p.epoch == m.purse {
		for t, n := range left {
			p.now[t] += max(0, n)
		}
		p.room += max(0, room)
	}
	for _, t := range order {
		d.h.tell(roleHost(m.host), deals[t])
	}
}

func (d *dispatcher) onSettled(m *settled) {
	// No trigger rings for what was given back. What we claimed while its last
	// run was not over is left to the next scan: it would come again and again.
	if slices.ContainsFunc(m.Back, func(c scheduler.Claim) bool { return d.running[c.Job].Claim == c }) {
		d.ring++
	}
	for _, list := range [][]scheduler.Claim{m.Claims, m.Stale} {
		for _, c := range list {
			if d.running[c.Job].Claim == c {
				delete(d.running, c.Job)
			}
			if d.audit != nil {
				d.audit.settled[c] = true
			}
		}
	}
	if len(m.Stale) > 0 { // should something still run for them
		d.h.tell(roleHosts, &drop{m.Stale})
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
		if s.waiting > 0 {
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
		_, parts := scheduler.Split(now+spawn, len(equal), d.turn[t], queue)
		given := false
		for i, s := range equal {
			n := min(parts[i], s.waiting)
			if n <= 0 {
				continue
			}
			fromNow := min(n, p.now[t])
			fromRoom := min(n-fromNow, p.room)
			p.now[t] -= fromNow
			p.room -= fromRoom
			p.spawn[t] -= fromRoom
			s.waiting -= fromNow + fromRoom
			given = true
			d.h.tell(roleMSQ(s.job.Claim.Job), &grant{Host: name, Epoch: p.epoch, Now: fromNow, Spawn: fromRoom})
		}
		if given {
			d.turn[t]++
		}
	}
}

func (d *dispatcher) onRows(m *rows) {
	s := d.sources[m.Claim.Job]
	if m.Job != nil && (s == nil || s.job.Claim != m.Claim) { // another dispatcher knew of it
		s = &source{job: *m.Job}
		d.sources[m.Claim.Job] = s
	}
	if s == nil || s.job.Claim != m.Claim {
		return
	}
	s.waiting, s.reading, s.opening = m.Waiting, m.Reading, m.Opening
}

// due promotes what the clock has made ready, and arms one timer for the next.
func (d *dispatcher) due(c actor.Context) {
	if d.dueBusy || !d.ready {
		d.dueAgain = true
		return
	}
	d.dueBusy, d.dueAgain = true, false
	h, ctx, self := d.h, d.ctx, c.Self()
	go func() {
		n, next, err := h.Queue.Due(ctx)
		h.system.Root.Send(self, &dueDone{n, next, err})
	}()
}

func (d *dispatcher) onDue(c actor.Context, m *dueDone) {
	d.dueBusy = false
	if m.err != nil {
		return // the next scan tries again; what broke is told by whoever claims
	}
	if m.n > 0 {
		d.ring++
	}
	if d.dueTimer != nil {
		d.dueTimer.Stop()
		d.dueTimer = nil
	}
	if d.dueAgain {
		d.due(c)
		return
	}
	if m.next >= 0 {
		self := c.Self()
		d.dueTimer = time.AfterFunc(min(m.next+time.Millisecond, time.Hour), func() { d.h.system.Root.Send(self, &dueNow{}) })
	}
}

// mark says in their rows why jobs wait. At most once a second, and only after
// something rang.
func (d *dispatcher) mark(c actor.Context) {
	if d.waitBusy || !d.ready {
		return
	}
	d.waitBusy = true
	h, ctx, self := d.h, d.ctx, c.Self()
	go func() {
		if _, err := h.Notices.MarkWaiting(ctx); err != nil && ctx.Err() == nil {
			h.Log.Debug("dispatcher: cannot say why jobs wait", "error", err)
		}
		h.system.Root.Send(self, &marked{})
	}()
}
