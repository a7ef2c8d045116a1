package dispatch

import (
	"fmt"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// stillAfter is for how long a dispatcher cannot claim before that is told: a claim is
// answered much sooner.
const stillAfter = time.Second

// standings is what the dispatcher knows of its own doing.
type standings struct {
	able            time.Time // when all was asked for, or a claim was answered
	scanned, rested time.Time // when the bell rang for a look at all, and the one of these that has led to rest
	toldStill       bool
	claimErr        error                                // of the last claim
	lastClaims      map[scheduler.TypeName]answeredClaim // of types in doubt
}

// answeredClaim is a claim that has come back.
type answeredClaim struct {
	intake.Claim
	brought int
	err     error
	at      time.Time
}

// stood notes what intake has answered.
func (d *dispatcher) stood(can intake.Can, step *intake.Step, now time.Time) {
	if !can.Claim || step.Claim != nil {
		return
	}
	if d.looked == nil { // else a look is still to tell of jobs that are ready again
		d.rested = d.scanned // all that can be taken has been asked for
	}
	d.goesOn(now)
}

// goesOn notes that claims are answered, or that there is nothing to claim.
func (d *dispatcher) goesOn(now time.Time) {
	d.able = now
	if d.toldStill {
		d.toldStill = false
		d.inst.Tell(message.RoleMaintenance, &message.Stands{Rested: d.rested})
	}
}

// onScan tells maintenance how it stands.
func (d *dispatcher) onScan(now time.Time) {
	m := &message.Stands{Rested: d.rested}
	if why := d.standstill(); why != "" && now.Sub(d.able) > stillAfter {
		m.Still = scheduler.Standstill{Why: why, Since: d.able}
	}
	d.toldStill = m.Still.Why != ""
	d.scanned = now
	d.inst.Tell(message.RoleMaintenance, m)
}

// standstill is why nothing is claimed; empty: nothing keeps it.
func (d *dispatcher) standstill() string {
	switch {
	case !d.ready:
		return "it is not registered yet"
	case d.fenced:
		return "its lease is over, since the database had not heard of it for too long"
	case !d.peersPendingSince.IsZero():
		return "after a crash of the database, every instance has to say first what it runs"
	case d.claimErr != nil:
		return "its last claim failed: " + d.claimErr.Error()
	case d.mustReassert:
		return "it has lost a connection, and takes again first what it holds"
	case d.audit != nil || d.auditDue:
		return "it compares its books with the database's"
	case d.inst.Outbox.Full():
		return "too many outcomes have to be written first"
	case d.claiming:
		return "its last claim is not answered yet"
	}
	return ""
}

// noteClaim notes a claim that is back.
func (d *dispatcher) noteClaim(m *claimed, now time.Time) {
	if d.claimErr = m.err; m.err == nil {
		d.goesOn(now)
	}
	if len(d.lastClaims) == 0 {
		return
	}
	for _, t := range m.claim.Demand.Types {
		if _, doubted := d.lastClaims[t.Type]; doubted {
			d.lastClaims[t.Type] = answeredClaim{m.claim, len(m.jobs), m.err, now}
		}
	}
}

// onDoubts keeps, for types in doubt, what is asked for; and tells of what was passed over.
func (d *dispatcher) onDoubts(m *message.Doubts, now time.Time) {
	if d.leaving { // ready jobs wait for another instance
		return
	}
	for _, job := range m.Passed {
		d.inst.Log.Warn("a job is ready, was looked at and not taken, and no cause is known: this is a fault of bellhop; "+
			"please report this line with what bellhop explain and bellhop doctor say", "job", job.Job, "type", job.Type,
			"row", job.Told, "books", d.in.Accounts(job.Type), "claim", d.claimOf(job.Type, now),
			"claims_answered", now.Sub(d.able).Round(time.Millisecond).String()+" ago",
			"standstill", d.standstill(), "holds", len(d.running))
	}
	was := d.lastClaims
	d.lastClaims = nil
	for _, job := range m.Lost {
		if d.lastClaims == nil {
			d.lastClaims = map[scheduler.TypeName]answeredClaim{}
		}
		d.lastClaims[job.Type] = was[job.Type]
	}
}

// claimOf tells of the last claim that has asked for a type.
func (d *dispatcher) claimOf(t scheduler.TypeName, now time.Time) string {
	last := d.lastClaims[t]
	if last.at.IsZero() {
		return "none since it is in doubt"
	}
	ago := now.Sub(last.at).Round(time.Millisecond)
	told := fmt.Sprintf("%v ago for host %s: %d brought", ago, last.Demand.Host, last.brought)
	for _, one := range last.Demand.Types {
		if one.Type == t {
			told += fmt.Sprintf(", of it %d asked for, to priority %d, placed ones only: %v",
				one.Limit, one.MaxPriority, one.Placed)
		}
	}
	told += fmt.Sprintf(", %d types and %d jobs in all, for children to come up: %v, queries too: %v, behind %v",
		len(last.Demand.Types), last.Demand.Total, last.Demand.Assigned, last.Demand.MSQ, last.Demand.Preemptors)
	if last.err != nil {
		told += ", failed: " + last.err.Error()
	}
	return told
}
