package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// An audit compares three books: what the database says this instance holds,
// what hosts, children and MSQ jobs say they hold, and what is owed. It is made
// when an actor has died, since messages to it are lost, and after a lost
// connection. A claim that only the database knows is lost: it goes back.
//
// It is exact, not a guess by age: the database is read while no claim is under
// way; everything dealt before that is ahead of the question in every mailbox;
// and a child owes an outcome before it forgets the line.

// auditPatience bounds an audit: an actor that dies meanwhile does not answer.
const auditPatience = 5 * time.Second

// adriftPause is how long an audit that has found work in flight that nobody
// waits for gives it to end, before the next.
const adriftPause = 100 * time.Millisecond

// audit asks the dispatcher for one.
type audit struct{}

type auditing struct {
	holds   []scheduler.Hold
	waiting map[string]bool // who has not reported yet
	seen    map[scheduler.Claim]bool
	items   map[scheduler.Claim]bool // MSQ jobs of which a child or a host has items
	open    map[scheduler.Claim]bool // MSQ jobs that somebody answers for
	settled map[scheduler.Claim]bool // written since the database was read
	owed    map[scheduler.Claim]bool // when all had reported
}

// auditReady: all have reported, and what was written by then is known.
type auditReady struct{ audit *auditing }

// held is what the database says we hold. Asked: the claims we knew of before
// it was read.
type held struct {
	epoch int
	sure  int // how often a connection had been lost or found again by then
	holds []scheduler.Hold
	asked []scheduler.Claim
	audit *auditing // nil: a look for cancels and for claims that are not ours any more
	err   error
}

// auditOver: the patience with an audit is over.
type auditOver struct{ audit *auditing }

func (d *dispatcher) wantAudit(c actor.Context) {
	d.auditDue = true
	d.next(c)
}

func (d *dispatcher) startAudit(c actor.Context) {
	a := &auditing{waiting: map[string]bool{}, seen: map[scheduler.Claim]bool{}, items: map[scheduler.Claim]bool{}, open: map[scheduler.Claim]bool{}, settled: map[scheduler.Claim]bool{}}
	d.audit, d.auditDue = a, false
	self := c.Self()
	time.AfterFunc(auditPatience, func() { d.h.system.Root.Send(self, &auditOver{a}) })
	d.readHeld(c, &held{epoch: d.epoch, audit: a})
}

func (d *dispatcher) readHeld(c actor.Context, m *held) {
	h, ctx, self := d.h, d.ctx, c.Self()
	m.sure = d.sure
	for _, hold := range d.running {
		m.asked = append(m.asked, hold.Claim)
	}
	go func() {
		m.holds, m.err = h.Holdings.Held(ctx, h.id())
		h.system.Root.Send(self, m)
	}()
}

// lookAtHeld finds running jobs that were asked to stop, and such that are not
// ours any more: deleted, changed by hand, taken over; and such that are ours
// and that we do not know of.
func (d *dispatcher) lookAtHeld(c actor.Context) {
	if !d.ready || d.fenced {
		return
	}
	if d.looking {
		d.lookAt = true
		return
	}
	d.looking, d.lookAt = true, false
	d.readHeld(c, &held{epoch: d.epoch})
}

func (d *dispatcher) onHeld(c actor.Context, m *held) {
	if m.epoch != d.epoch {
		return
	}
	if m.audit != nil {
		d.onAuditHeld(c, m)
		return
	}
	d.looking = false
	if m.err != nil {
		d.doubt()
		return // the next scan looks again
	}
	ours := make(map[scheduler.Claim]bool, len(m.holds))
	for _, hold := range m.holds {
		ours[hold.Claim] = true
		if hold.Cancel {
			cancel := &cancelJob{hold.Claim, hold.CancelNow}
			d.h.tell(roleHosts, cancel)
			d.h.tell(roleMSQ(hold.Claim.Job), cancel)
		}
	}
	if !d.unsure && m.sure == d.sure { // a lost claim is no reason to stop: it is re-asserted
		owed := d.h.outbox.owing()
		var gone []scheduler.Claim
		for _, claim := range m.asked {
			if _, still := d.running[claim.Job]; still && !ours[claim] && !owed[claim] {
				gone = append(gone, claim)
			}
		}
		if len(gone) > 0 {
			d.h.tell(roleHosts, &drop{gone})
			d.h.tell(roleMSQs, &drop{gone})
		}
	}
	d.lookForStrangers(m)
	if d.lookAt {
		d.lookAtHeld(c)
	}
}

// lookForStrangers asks for an audit when the database has twice in a row said
// that a claim is ours of which we know nothing: a claim whose answer was lost
// can be committed long after, behind a connection that was given up. Once
// alone means nothing: it may have been settled since it was read.
func (d *dispatcher) lookForStrangers(m *held) {
	strangers := map[scheduler.Claim]bool{}
	for _, hold := range m.holds {
		if _, known := d.running[hold.Claim.Job]; !known {
			strangers[hold.Claim] = true
			d.auditDue = d.auditDue || d.strangers[hold.Claim]
		}
	}
	d.strangers = strangers
}

func (d *dispatcher) onAuditHeld(c actor.Context, m *held) {
	if d.audit != m.audit {
		return
	}
	if m.err != nil {
		d.audit, d.auditDue = nil, true
		d.doubt()
		return
	}
	d.audit.holds = m.holds
	ask := &report{c.Self(), d.audit}
	d.audit.waiting[roleMSQs] = true
	d.h.tell(roleMSQs, ask)
	for _, spec := range d.h.Hosts {
		d.audit.waiting[string(spec.Name)] = true
		d.h.tell(roleHost(spec.Name), ask)
	}
}

func (d *dispatcher) onReported(c actor.Context, m *reported) {
	if d.audit == nil || m.Of != d.audit { // an answer to an audit that was given up
		return
	}
	delete(d.audit.waiting, m.From)
	for _, child := range m.Children {
		d.audit.waiting[child] = true
	}
	for _, claim := range m.Claims {
		d.audit.seen[claim] = true
		if m.From == roleMSQs {
			d.audit.open[claim] = true
		}
	}
	for _, claim := range m.Items {
		d.audit.items[claim] = true
	}
	if len(d.audit.waiting) == 0 {
		// What is not owed any more was told us before: after our own message
		// we have heard it.
		d.audit.owed = d.h.outbox.owing()
		d.h.system.Root.Send(c.Self(), &auditReady{d.audit})
	}
}

func (d *dispatcher) closeAudit(c actor.Context, m *auditReady) {
	a, owed := d.audit, m.audit.owed
	if a != m.audit {
		return
	}
	d.audit = nil
	known := make(map[scheduler.JobID]bool, len(a.holds))
	lost := 0
	var adrift []scheduler.Claim
	for _, hold := range a.holds {
		if a.settled[hold.Claim] {
			continue
		}
		known[hold.Claim.Job] = true
		if _, here := d.running[hold.Claim.Job]; !here {
			d.running[hold.Claim.Job] = hold
		}
		if a.seen[hold.Claim] || owed[hold.Claim] {
			continue
		}
		if a.items[hold.Claim] || d.h.orphans.has(hold.Claim) { // nobody answers for the job, but items of it are in somebody's hands
			adrift = append(adrift, hold.Claim)
			continue
		}
		lost++
		d.h.owe(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: hold.Claim})
		d.h.note(hold.Claim, 0, hold.Host, "lost inside the scheduler; given back, not counted as an attempt")
	}
	for id, hold := range d.running { // settled, and the news of it was lost
		if !known[id] && !a.seen[hold.Claim] && !owed[hold.Claim] && !d.h.orphans.has(hold.Claim) {
			delete(d.running, id)
		}
	}
	for id, s := range d.sources {
		if d.running[id].Claim != s.job.Claim || !a.open[s.job.Claim] {
			delete(d.sources, id)
		}
	}
	if len(adrift) > 0 { // they go back when nothing of them runs any more
		d.h.tell(roleHosts, &drop{adrift})
		self := c.Self()
		time.AfterFunc(adriftPause, func() { d.h.system.Root.Send(self, &audit{}) })
	}
	d.ring++
	d.again++
	if lost > 0 {
		d.h.Log.Warn("audit: claims that nobody worked on were given back", "jobs", lost)
	}
}

// endAudit gives up on one that somebody did not answer, and starts another.
func (d *dispatcher) endAudit(c actor.Context, m *auditOver) {
	if d.audit != m.audit || d.audit == nil {
		return
	}
	d.audit, d.auditDue = nil, true
}
