// Package message has what actors of different packages tell each other, and the
// roles under which they are reached. What an actor tells itself stays with it.
package message

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// From the bell.
type (
	// Rang: there may be work. To the dispatcher, the gate and maintenance; sent for every ring and on every
	// reconnection; one that is on its way stands for all. By the safety scan, and by every actor that makes jobs
	// ready, to dispatcher and maintenance. By the gate, when producers may not have rung, to the dispatcher alone.
	// inserted: nothing else has happened than that jobs came in.
	Rang struct{ Scan, ByGate, Inserted, Locks bool }
	// CancelRang: a job that runs may have been asked to stop. To the dispatcher.
	CancelRang struct{}
	// DueNow: a row that waits for the clock has come, or its time has. To maintenance.
	DueNow struct{}
	// Ages: a job that waits for a lock ages then, and is to be reserved for. From the dispatcher to maintenance.
	Ages struct{ At time.Time }
)

// ScanRows: rows of attached tables may wait, or jobs of theirs have ended.
// From the bell, the gate and the ledger to attachments.
type ScanRows struct{}

// Between the dispatcher and the gate.
type (
	// Took: so many jobs came with a claim. To the gate.
	Took int
	// Full: it was to look at the queue, and there is room for nothing. To the gate.
	Full struct{}
)

// From membership.
type (
	// Joined: this instance is registered; claims and rounds may start. To dispatcher and maintenance.
	Joined struct{}
	// Leased: the lease was renewed; it lasts until then. To hosts, on to children.
	Leased struct{ Until time.Time }
	// Fenced: the lease is over. Dispatcher: claim nothing. Hosts: kill what runs.
	Fenced struct{}
	// Describe: tell membership what your children are doing. To hosts, on to children. With somewhere to answer to,
	// it is a question to its receiver, and is not passed on.
	Describe struct{ Answers chan<- any }
	// Divided: this instance's part of some type's max changed. To hosts.
	Divided struct{}
)

// Between the dispatcher and hosts.
type (
	// Credits: a host asks for work. To the dispatcher.
	Credits = intake.Offered
	// Deal: work for a host, paid with its credits of Epoch. From the dispatcher,
	// and from an msq on the dispatcher's behalf.
	Deal = intake.Dispatch
	// Deals: those of one claim, so that the host looks once at what it has.
	Deals []*Deal
	// Report: say what you hold, and ask for work anew. To hosts, on to children.
	Report struct {
		To      *actor.PID
		Of      any // the audit that asks, nil for none
		Returns int // to a child: how often its host had got something back when it answered
	}
	// Reported: the claims that a child, a host itself, or msqs holds. To the dispatcher.
	Reported struct {
		Of       any    // the report's
		From     string // child, host or msqs
		Claims   []scheduler.Claim
		Items    []scheduler.Claim // of MSQ jobs, of which it holds items
		Children []string          // a host's: which others will report
	}
	// Drop: stop whatever runs for these claims. They are not ours any more, or end here because of what Ends tells. To
	// hosts, on to children.
	Drop struct {
		Claims []scheduler.Claim
		Ends   string
	}
	// CancelJob: kill what runs for it. To hosts, on to children, and to the msq.
	CancelJob struct {
		Claim scheduler.Claim
		Now   bool
	}
)

// Between the dispatcher and msqs.
type (
	// StartMSQ: run this MSQ job. To msqs.
	StartMSQ struct{ Job scheduler.Job }
	// MSQWaiting: so many items wait for children. From an msq to the dispatcher.
	MSQWaiting = intake.MSQWaits
	// Grant: deal so many lines to a host. From the dispatcher to an msq.
	Grant = intake.Grant
	// Nowhere: no host of this instance answers to these names. From the dispatcher to an msq.
	Nowhere = intake.Nowhere
	// Refund: what a grant left over. From an msq to the dispatcher.
	Refund = intake.Refunded
	// MSQEnded: the MSQ job is over here. From an msq to the dispatcher, and on to the hosts: places that were
	// granted to it and that it did not take are to be offered anew. Of no claim: of some that an audit did not find.
	MSQEnded struct{ Claim scheduler.Claim }
	// Answered: what became of items. From children to the msq.
	Answered struct{ Results []scheduler.Result }
	// Returned: items that no child took. From hosts to the msq.
	Returned struct{ Lines []scheduler.Line }
	// HostRestarted: a host's actor is there, and every process of those before it is
	// dead. What was dealt to another than At is lost. To every msq.
	HostRestarted struct {
		Host scheduler.HostName
		At   *actor.PID
	}
)

// From the ledger.
type (
	// Settled: the endings of Claims are written, or none of ours to write; those in Back are ready again. Stale ones,
	// of an ending or a start, belong to another owner. To the dispatcher.
	Settled struct{ Claims, Stale, Back []scheduler.Claim }
	// FlushNow wakes the ledger: something is owed.
	FlushNow struct{}
)

// Stopping.
type (
	// Finish: claim nothing more; say when nothing runs. To the dispatcher. Take
	// no more rows. To attachments.
	Finish struct{ Done chan<- string }
	// DrainMSQs: give your MSQ jobs back; say when there are none. To msqs, on to each.
	DrainMSQs struct{ Done chan<- string }
	// Leave: end all children; say when none is left. To hosts. All: kill
	// those too that were asked to go and have not.
	Leave struct {
		All  bool
		Done chan<- string
	}
	// PanicNow makes an actor panic: for the test that kills them one by one.
	PanicNow struct{}
)

// Flush is the one that is sent.
var Flush = &FlushNow{}

// Tell answers, if it was a question.
func (m *Describe) Tell(answer any) (asked bool) {
	if m.Answers == nil {
		return false
	}
	select {
	case m.Answers <- answer:
	default: // a second answer of the same actor
	}
	return true
}

// Add reports what is held of lines.
func (r *Reported) Add(lines []scheduler.Line) {
	for _, l := range lines {
		if l.Item != 0 {
			r.Items = append(r.Items, l.Claim)
		} else {
			r.Claims = append(r.Claims, l.Claim)
		}
	}
}
