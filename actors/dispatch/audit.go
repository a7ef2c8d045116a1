package dispatch

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// An audit compares three books: what the database says this instance holds,
// what hosts, children and MSQ jobs say they hold, and what is owed. It is made
// when an actor has died, since messages to it are lost, and after a lost
// connection. A claim that only the database knows is lost: it goes back.
//
// It is exact, not a guess by age: the database is read while no claim is under
// way; everything dealt before that is ahead of the question in every mailbox;
// and a child owes an outcome before it forgets the line.

// claimsRest: a look for unknown claims rests for so many times as long as the last one took. Beside an old snapshot it
// walks past all jobs that ran since.
const (
	claimsRest     = 20
	claimsRestMost = time.Minute // what it took may be the wait for a connection
)

// auditPatience bounds an audit: an actor that dies meanwhile does not answer.
const auditPatience = 5 * time.Second

// unownedPause is how long an audit that found in-flight work without an owner gives it to end, before the next.
const unownedPause = 100 * time.Millisecond

type auditing struct {
	intake.Books
	waiting map[string]bool // the actors that have not reported yet
}

// auditReady: all have reported, and what was written by then is known.
type auditReady struct{ audit *auditing }

// claimsRead is what the database says we hold. Asked: the claims we knew of before
// it was read.
type claimsRead struct {
	generation int // how often a connection had been lost or found again by then
	holds      []scheduler.Hold
	asked      []scheduler.Claim
	scan       bool // it was read for claims of which we do not know, too
	took       time.Duration
	audit      *auditing // nil: a look for cancels and for claims that are not ours any more
	err        error
}

// auditOver: the patience with an audit is over.
type auditOver struct{ audit *auditing }

// claimsReader looks from time to time at what the database says we hold.
type claimsReader struct {
	busy    bool                     // a look is under way
	rerun   bool                     // and another is wanted after it
	scan    bool                     // which is for unknown claims, too
	rested  time.Time                // before that, none is
	unknown map[scheduler.Claim]bool // what the last one found to be ours and we did not know of
}

func (d *dispatcher) startAudit(c actor.Context) {
	a := &auditing{Books: intake.NewBooks(), waiting: map[string]bool{}}
	d.audit, d.auditDue = a, false
	self := c.Self()
	d.inst.Later(self, auditPatience, &auditOver{a})
	d.readClaims(c, &claimsRead{audit: a})
}

func (d *dispatcher) readClaims(c actor.Context, m *claimsRead) {
	inst, ctx, self := d.inst, d.ctx, c.Self()
	m.generation = d.connGeneration
	of := make([]scheduler.Claim, 0, len(d.running))
	for _, hold := range d.running {
		of = append(of, hold.Claim)
	}
	if m.asked = of; m.audit != nil {
		of = nil
	}
	go func() {
		began := time.Now()
		m.holds, m.err = inst.Holdings.Claims(ctx, inst.ID(), of, m.scan)
		m.took = time.Since(began)
		inst.Send(self, m)
	}()
}

// checkClaims finds running jobs that were asked to stop, and such that are not
// ours any more: deleted, changed by hand, taken over; and, in a scan, such that
// are ours and that we do not know of.
func (d *dispatcher) checkClaims(c actor.Context, scan bool) {
	if !d.ready || d.fenced {
		return
	}
	if d.claims.busy {
		d.claims.rerun, d.claims.scan = true, d.claims.scan || scan
		return
	}
	scan = scan && !time.Now().Before(d.claims.rested)
	d.claims.busy, d.claims.rerun, d.claims.scan = true, false, false
	d.readClaims(c, &claimsRead{scan: scan})
}

func (d *dispatcher) onClaimsRead(c actor.Context, m *claimsRead) {
	if m.audit != nil {
		d.onAuditHeld(c, m)
		return
	}
	d.claims.busy = false
	if m.err != nil {
		d.reassertFirst()
		return // the next scan looks again
	}
	ours := make(map[scheduler.Claim]bool, len(m.holds))
	for _, hold := range m.holds {
		ours[hold.Claim] = true
		if hold.Cancel {
			cancel := &message.CancelJob{Claim: hold.Claim, Now: hold.CancelNow}
			d.inst.Tell(message.RoleHosts, cancel)
			d.inst.Tell(message.RoleMSQ(hold.Claim.Job), cancel)
		}
	}
	if !d.mustReassert && m.generation == d.connGeneration { // a lost claim is no reason to stop: it is re-asserted
		owed := d.inst.Outbox.Owing()
		var gone []scheduler.Claim
		for _, claim := range m.asked {
			if _, still := d.running[claim.Job]; still && !ours[claim] && !owed[claim] {
				gone = append(gone, claim)
			}
		}
		if len(gone) > 0 {
			d.inst.Tell(message.RoleHosts, &message.Drop{Claims: gone})
			d.inst.Tell(message.RoleMSQs, &message.Drop{Claims: gone})
		}
	}
	if m.scan {
		d.claims.rested = time.Now().Add(min(claimsRest*m.took, claimsRestMost))
		d.checkUnknown(m)
	}
	if d.claims.rerun {
		d.checkClaims(c, d.claims.scan)
	}
}

// checkUnknown asks for an audit when the database has twice in a row said
// that a claim is ours of which we know nothing: a claim whose answer was lost
// can be committed long after, behind a connection that was given up. Once
// alone means nothing: it may have been settled since it was read.
func (d *dispatcher) checkUnknown(m *claimsRead) {
	unknown := map[scheduler.Claim]bool{}
	for _, hold := range m.holds {
		if _, known := d.running[hold.Claim.Job]; !known {
			unknown[hold.Claim] = true
			d.auditDue = d.auditDue || d.claims.unknown[hold.Claim]
		}
	}
	d.claims.unknown = unknown
}

func (d *dispatcher) onAuditHeld(c actor.Context, m *claimsRead) {
	if d.audit != m.audit {
		return
	}
	if m.err != nil {
		d.audit, d.auditDue = nil, true
		d.reassertFirst()
		return
	}
	d.audit.Database = m.holds
	ask := &message.Report{To: c.Self(), Of: d.audit}
	d.audit.waiting[message.RoleMSQs] = true
	d.inst.Tell(message.RoleMSQs, ask)
	for _, spec := range d.inst.setup().Hosts {
		d.audit.waiting[string(spec.Name)] = true
		d.inst.Tell(message.RoleHost(spec.Name), ask)
	}
}

func (d *dispatcher) onReported(c actor.Context, m *message.Reported) {
	if d.audit == nil || m.Of != d.audit { // an answer to an audit that was given up
		return
	}
	delete(d.audit.waiting, m.From)
	for _, child := range m.Children {
		d.audit.waiting[child] = true
	}
	for _, claim := range m.Claims {
		d.audit.Held[claim] = true
		if m.From == message.RoleMSQs {
			d.audit.Open[claim] = true
		}
	}
	for _, claim := range m.Items {
		d.audit.Items[claim] = true
	}
	if len(d.audit.waiting) == 0 {
		// In this order: what was in a process whose actor died is owed before that
		// process is forgotten; and what is not owed any more was told us before, so
		// that after our own message we have heard it.
		d.audit.Orphans = d.inst.Orphans.All()
		d.audit.Owed = d.inst.Outbox.Owing()
		d.inst.Send(c.Self(), &auditReady{d.audit})
	}
}

func (d *dispatcher) closeAudit(c actor.Context, m *auditReady) {
	a := d.audit
	if a != m.audit {
		return
	}
	d.audit = nil
	a.Running = d.running
	found := intake.Reconcile(a.Books)
	for _, hold := range found.Learn {
		d.running[hold.Claim.Job] = hold
	}
	for _, hold := range found.Lost {
		d.inst.Outbox.Owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: hold.Claim})
		d.inst.Outbox.Note(hold.Claim, 0, hold.Host, "lost inside the scheduler; given back, not counted as an attempt")
	}
	for _, id := range found.Forget {
		delete(d.running, id)
	}
	if len(found.Unowned) > 0 { // they go back when nothing of them runs any more
		d.inst.Tell(message.RoleHosts, &message.Drop{Claims: found.Unowned})
		self := c.Self()
		d.inst.Later(self, unownedPause, &message.Audit{})
	}
	d.happened(c, intake.Reconciled{MSQs: found.MSQs})
	// Between a host's report and this, an MSQ job that has gone may have been granted places, which nothing else
	// gives back.
	d.inst.Tell(message.RoleHosts, &message.MSQEnded{})
	if len(found.Lost) > 0 {
		d.inst.Log.Warn("audit: gave back claims that no child was working on", "jobs", len(found.Lost))
	}
}

// endAudit gives up on an audit with a missing answer, and starts another.
func (d *dispatcher) endAudit(m *auditOver) {
	if d.audit != m.audit || d.audit == nil {
		return
	}
	d.audit, d.auditDue = nil, true
}
