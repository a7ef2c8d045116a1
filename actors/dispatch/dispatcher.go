// Package dispatch has the dispatcher: it claims what hosts ask for, deals it out,
// and audits the books.
package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/cenkalti/backoff/v4"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// dispatcher brings demand and work together: hosts tell it what they can take (credits), one claim fetches as many
// jobs as one host can take, and it deals them out. Intake decides what is asked for, for which host, and how it is
// dealt; the dispatcher carries it out. It knows every claim that this instance holds.
type dispatcher struct {
	inst *Ports
	// owned by Receive
	in       *intake.Intake
	running  map[scheduler.JobID]scheduler.Hold
	ready    bool // registered, and our books agree with the database's
	fenced   bool
	claiming bool
	pause    *backoff.ExponentialBackOff
	finished chan<- string // told when nothing runs any more
	leaving  bool          // nothing is claimed any more
	assertion
	standings
	claims    claimsReader
	audit     *auditing
	auditDue  bool
	recheck   bool            // claims are to be checked when the one under way has come back
	looked    <-chan struct{} // closes when a look is over for jobs that the last claim left out; nil: it left none out
	limitAt   time.Time       // when a limit per time lets another job start
	warmTimer *time.Timer     // when a statement is to be kept warm; kept
	readTimer *time.Timer     // when intake is to be asked again what to read of the backlog
	ctx       context.Context
	cancel    context.CancelFunc
}

func New(inst *Ports) *dispatcher {
	return &dispatcher{inst: inst, in: intake.New(intakeConfig(inst)), running: map[scheduler.JobID]scheduler.Hold{},
		pause: backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond),
			backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0))}
}

// Messages of the dispatcher to itself.
type (
	claimed struct { // a claim has come back
		claim intake.Claim
		jobs  []scheduler.Job
		again time.Duration // until a limit per time lets another start
		ages  time.Time     // when a job that waits for a lock is to be reserved for; zero: none
		// closes when a look is over for jobs that it left out; nil: it left none out
		looked <-chan struct{}
		err    error
	}
	resume struct{} // the pause after a failed claim is over
	// lookOver: a look is over for jobs that claims leave out.
	lookOver struct{ looked <-chan struct{} }
	askNext  struct{} // it is time to ask intake again
)

func (d *dispatcher) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		d.onStarted(c)
	case *message.Joined:
		d.onJoined(c)
	case *message.Fenced:
		d.fenced = true
	case *message.Rang:
		d.onRang(c, m)
	case *lookOver:
		d.onLookOver(c, m)
	case *message.CancelRang:
		d.recheck = d.recheck || d.claiming
		d.checkClaims(c, false)
	case *claimsRead:
		d.onClaimsRead(c, m)
	case *message.Credits:
		d.happened(c, *m)
	case *claimed:
		d.onClaimed(c, m)
	case *resume:
		d.claiming = false
	case *message.Settled:
		d.onSettled(c, m)
	case *message.ConnLost:
		d.reassertFirst()
	case *reasserted:
		d.onReasserted(c, m)
	case *message.LookBack:
		d.lookBack(c, m)
	case *lookedBack:
		d.onLookedBack(c, m)
	case *message.Audit:
		d.audit, d.auditDue = nil, true // one under way may wait for an actor that has just died
	case *message.Reported:
		d.onReported(c, m)
	case *auditReady:
		d.closeAudit(c, m)
	case *auditOver:
		d.endAudit(m)
	case *message.MSQWaiting:
		d.happened(c, *m)
	case *message.Refund:
		d.happened(c, *m)
	case *message.MSQEnded:
		d.onMSQEnded(c, m)
	case intake.Event: // from maintenance
		d.happened(c, m)
	case *askNext: // next does
	case *message.Describe:
		m.Tell(message.Holding(len(d.running)))
		return
	case *message.Doubts:
		d.onDoubts(m, time.Now())
		return
	case *message.LockedNow:
		d.onLockedNow(m)
	case *message.Reshaped:
		d.reshape(c)
	case *message.Finish:
		d.onFinish(c, m)
	case *actor.Stopping:
		d.onStopping()
		return
	default:
		return
	}
	d.next(c)
}

func (d *dispatcher) onStarted(c actor.Context) {
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.able = time.Now()
	d.ready = d.inst.ID() != 0 // another one before us has registered
	d.fenced = d.ready && d.inst.LeaseLeft(time.Now()) <= 0
	d.auditDue = true // our books are empty: what does the instance know?
	d.inst.Tell(message.RoleMaintenance, &intake.Question{})
	d.inst.Tell(message.RoleMaintenance, &message.DueNow{}) // what operators want, and where names are
}

func (d *dispatcher) onJoined(c actor.Context) {
	d.fenced, d.ready = false, true
	d.reassertFirst()
	d.happened(c, intake.Woken{Readmitted: true})
	d.auditDue = true
}

func (d *dispatcher) onMSQEnded(c actor.Context, m *message.MSQEnded) {
	d.happened(c, intake.MSQEnded{Job: m.Claim.Job})
	d.inst.Tell(message.RoleHosts, m) // what it was granted and did not use
}

func (d *dispatcher) onFinish(c actor.Context, m *message.Finish) {
	d.finished, d.leaving = m.Done, true
	d.happened(c, intake.Leaving{})
}

func (d *dispatcher) onStopping() {
	d.cancel()
	if d.readTimer != nil {
		d.readTimer.Stop()
	}
	if d.warmTimer != nil {
		d.warmTimer.Stop()
	}
}

// happened tells intake of something, and does what follows from it at once.
func (d *dispatcher) happened(c actor.Context, ev intake.Event) {
	d.carryOut(c, d.in.Apply(ev, time.Now()))
}

// next does what can be done now.
func (d *dispatcher) next(c actor.Context) {
	if d.finished != nil && len(d.running) == 0 && !d.claiming {
		d.finished <- message.RoleDispatcher
		d.finished = nil
	}
	grant := d.ready && !d.fenced
	idle := grant && !d.claiming && d.audit == nil
	can := intake.Can{Grant: grant, Claiming: d.claiming, Attached: d.inst.Rows.Attached.Load(), Running: len(d.running),
		Claim: idle && !d.mustReassert && !d.auditDue && !d.inst.Outbox.Full()} // what is settled brings us back
	now := time.Now()
	step := d.in.Next(can, now)
	d.stood(can, &step, now)
	d.carryOut(c, step)
	switch {
	case !idle:
	case d.mustReassert:
		d.reassert(c)
	case d.auditDue:
		d.startAudit(c)
	}
}

func (d *dispatcher) carryOut(c actor.Context, s intake.Step) {
	if len(s.Dispatch) > 0 {
		all := make(message.Deals, len(s.Dispatch))
		for i, w := range s.Dispatch {
			all[i] = &w
		}
		d.inst.Tell(message.RoleHost(s.Dispatch[0].Host), all) // one claim is for one host
	}
	for _, w := range s.Backlogs {
		d.inst.Tell(message.RoleHost(w.Host), &message.WaitingTypes{Waiting: w.Types, Coming: w.Coming})
	}
	for _, n := range s.Nowhere {
		d.inst.Tell(message.RoleMSQ(n.Job), &n)
	}
	for _, g := range s.Grants {
		d.inst.Tell(message.RoleMSQ(g.Job), &g)
	}
	if s.Ask != nil {
		d.inst.Tell(message.RoleMaintenance, s.Ask)
	}
	if s.Read != nil {
		d.inst.Tell(message.RoleMaintenance, s.Read)
	}
	if s.Read != nil || !s.ReadAt.IsZero() {
		d.askAt(c, s.ReadAt)
	}
	if !s.WarmAt.IsZero() {
		d.warmAt(c, s.WarmAt)
	}
	if s.Claim != nil {
		d.claim(c, *s.Claim)
	}
	if s.Full {
		d.inst.Tell(message.RoleGate, noRoom)
	}
	if s.Draining != nil {
		m := &message.Draining{}
		if *s.Draining {
			m.Since = time.Now()
		}
		d.inst.Tell(message.RoleMembership, m)
	}
}

func (d *dispatcher) onRang(c actor.Context, m *message.Rang) {
	if m.Locks {
		d.happened(c, intake.LocksWoken{})
		return
	}
	if m.Scan && !m.ByGate {
		d.onScan(time.Now())
	}
	d.happened(c, intake.Woken{Rang: true, Readmitted: !m.ByGate && !m.Inserted, Scan: m.Scan && !m.ByGate})
	if m.Scan && !m.ByGate {
		d.checkClaims(c, true)
	}
}

// claim sends a claim on its way.
func (d *dispatcher) claim(c actor.Context, claim intake.Claim) {
	d.claiming = true
	inst, ctx, self := d.inst, d.ctx, c.Self()
	m := &claimed{claim: claim}
	go func() {
		m.jobs, m.err = inst.Queue.Claim(ctx, inst.ID(), m.claim.Demand)
		m.again, m.ages, m.looked = inst.Queue.Later()
		inst.Send(self, m)
	}()
}

func (d *dispatcher) onClaimed(c actor.Context, m *claimed) {
	d.noteClaim(m, time.Now())
	d.awaitLook(c, m.looked)
	if m.err != nil {
		wait := d.pause.NextBackOff()
		d.inst.Log.Warn("dispatcher: cannot claim", "error", m.err, "again_in", wait)
		d.reassertFirst()
		self := c.Self()
		d.inst.Later(self, wait, &resume{})
	} else {
		d.pause.Reset()
		d.claiming = false
	}
	ev := intake.Claimed{Claim: m.claim, Failed: m.err != nil, Jobs: m.jobs[:0]} // in place: there may be many
	brought, now := len(m.jobs), time.Now()
	for _, j := range m.jobs {
		_, here := d.running[j.Claim.Job]
		hold := scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: m.claim.Demand.Host, CreatedAt: j.Submitted(),
			Locked: j.Locked}
		switch {
		case m.claim.Probe:
			d.refuse(&ev, j, waitsAlone)
			if !here {
				d.running[j.Claim.Job] = hold
			}
		case here: // its last run is not over here (it was lost, and is being ended)
			d.refuse(&ev, j, "")
		case !d.inst.MayBegin(&j.Line, now): // it took so long that we may be taken for dead
			d.refuse(&ev, j, "")
		default:
			d.running[j.Claim.Job] = hold
			ev.Jobs = append(ev.Jobs, j)
			if j.MSQ != "" {
				d.inst.Tell(message.RoleMSQs, &message.StartMSQ{Job: j})
			}
		}
	}
	d.happened(c, ev)
	if m.claim.Demand.Locked {
		d.lookAgain(c, m, now)
	}
	if d.recheck { // it may have brought jobs that were cancelled meanwhile
		d.recheck = false
		d.checkClaims(c, false)
	}
	if m.err == nil && !m.claim.Probe && !m.claim.Demand.Locked { // producers of jobs with locks always ring
		d.inst.Tell(message.RoleGate, message.Took(brought))
	}
}

var noRoom = &message.Full{}

// waitsAlone is why a job of an exclusive type waits.
const waitsAlone = "exclusive: waits until nothing else runs"

// refuse gives back what a claim has brought.
func (d *dispatcher) refuse(ev *intake.Claimed, j scheduler.Job, why string) {
	if ev.Refused == nil {
		ev.Refused = map[scheduler.TypeName]int{}
	}
	ev.Refused[j.Type]++
	d.inst.Outbox.Owe(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: j.Claim, Attempt: j.Attempt, Why: why})
}

// askAt has intake asked again at a time; zero: not by the clock.
func (d *dispatcher) askAt(c actor.Context, at time.Time) {
	if d.readTimer != nil {
		d.readTimer.Stop()
		d.readTimer = nil
	}
	if at.IsZero() {
		return
	}
	self, root := c.Self(), d.inst.System.Root
	d.readTimer = time.AfterFunc(time.Until(at), func() { root.Send(self, &askNext{}) })
}

// warmAt has intake asked again then, besides: to keep a statement warm.
func (d *dispatcher) warmAt(c actor.Context, at time.Time) {
	if d.warmTimer != nil {
		d.warmTimer.Reset(time.Until(at))
		return
	}
	self, root := c.Self(), d.inst.System.Root
	d.warmTimer = time.AfterFunc(time.Until(at), func() { root.Send(self, &askNext{}) })
}

func (d *dispatcher) onSettled(ctx actor.Context, m *message.Settled) {
	// No trigger rings for what was given back. What we claimed while its last
	// run was not over is left to the next scan: it would come again and again.
	if slices.ContainsFunc(m.Back, func(c scheduler.Claim) bool { return d.running[c.Job].Claim == c }) {
		d.happened(ctx, intake.Woken{Readmitted: true})
	}
	// A stale start is not the end of it: until its child has let go of the job,
	// it is not claimed anew. Its fence could be the same.
	var freed bool
	for _, c := range m.Claims {
		if hold := d.running[c.Job]; hold.Claim == c {
			freed = freed || hold.Locked
			delete(d.running, c.Job)
		}
		if d.audit != nil {
			d.audit.Settled[c] = true
		}
	}
	if freed { // once for all of them: each is a reason to look at all locks
		d.happened(ctx, intake.LocksWoken{})
		d.inst.Tell(message.RoleLocks, &message.TryLocks{})
		d.inst.Tell(message.RoleMSQs, &message.TryLocks{})
	}
	if len(m.Stale) > 0 { // should something still run for them
		d.inst.Tell(message.RoleHosts, &message.Drop{Claims: m.Stale})
		d.inst.Tell(message.RoleMSQs, &message.Drop{Claims: m.Stale})
	}
}
