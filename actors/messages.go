package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/port"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// Roles: under these names actors are reached.
const (
	roleSupervisor = "supervisor"
	roleBell       = "bell"
	roleMembership = "membership"
	roleGate       = "gate"
	roleDispatcher = "dispatcher"
	roleLedger     = "ledger"
	roleMSQs       = "msqs"
	roleHosts      = "hosts"

	roleMaintenance = "maintenance"
	roleLocks       = "locks"
	roleAttachments = "attachments"
	roleSensors     = "sensors"
	roleCourier     = "courier"
	roleWatches     = "watches"
	roleKeeper      = "keeper"
)

func roleHost(h scheduler.HostName) string { return "host/" + string(h) }
func roleMSQ(j scheduler.JobID) string     { return "msq/" + itoa(int64(j)) }
func roleChild(h scheduler.HostName, c scheduler.ChildName) string {
	return "child/" + string(h) + "/" + string(c)
}

// From the bell.
type (
	// rang: there may be work. To the dispatcher, the gate and maintenance; sent for every ring and on every
	// reconnection; one that is on its way stands for all. By the safety scan, and by every actor that makes jobs
	// ready, to dispatcher and maintenance. By the gate, when producers may not have rung, to the dispatcher alone.
	// inserted: nothing else has happened than that jobs came in.
	rang struct{ scan, byGate, inserted, locks bool }
	// cancelRang: a job that runs may have been asked to stop. To the dispatcher.
	cancelRang struct{}
	// dueNow: a row that waits for the clock has come, or its time has. To maintenance.
	dueNow struct{}
	// ages: a job that waits for a lock ages then, and is to be reserved for. From the dispatcher to maintenance.
	ages struct{ at time.Time }
)

// scanRows: rows of attached tables may wait, or jobs of theirs have ended.
// From the bell, the gate and the ledger to attachments.
type scanRows struct{}

// Between the dispatcher and the gate.
type (
	// took: so many jobs came with a claim. To the gate.
	took int
	// full: it was to look at the queue, and there is room for nothing. To the gate.
	full struct{}
)

// From membership.
type (
	// joined: this instance is registered; claims and rounds may start. To dispatcher and maintenance.
	joined struct{}
	// leased: the lease was renewed; it lasts until then. To hosts, on to children.
	leased struct{ until time.Time }
	// fenced: the lease is over. Dispatcher: claim nothing. Hosts: kill what runs.
	fenced struct{}
	// describe: tell membership what your children are doing. To hosts, on to children. With somewhere to answer to,
	// it is a question to its receiver, and is not passed on.
	describe struct{ answers chan<- any }
	// divided: this instance's part of some type's max changed. To hosts.
	divided struct{}
)

// Between the dispatcher and hosts.
type (
	// credits: a host asks for work. To the dispatcher.
	credits = intake.Offered
	// deal: work for a host, paid with its credits of Epoch. From the dispatcher,
	// and from an msq on the dispatcher's behalf.
	deal = intake.Dispatch
	// deals: those of one claim, so that the host looks once at what it has.
	deals []*deal
	// report: say what you hold, and ask for work anew. To hosts, on to children.
	report struct {
		To      *actor.PID
		Of      *auditing // the audit that asks, nil for none
		Returns int       // to a child: how often its host had got something back when it answered
	}
	// reported: the claims that a child, a host itself, or msqs holds. To the dispatcher.
	reported struct {
		Of       *auditing // the report's
		From     string    // child, host or msqs
		Claims   []scheduler.Claim
		Items    []scheduler.Claim // of MSQ jobs, of which it holds items
		Children []string          // a host's: which others will report
	}
	// drop: these claims are not ours any more; stop whatever runs for them. To hosts, on to children.
	drop struct{ Claims []scheduler.Claim }
	// cancelJob: kill what runs for it. To hosts, on to children, and to the msq.
	cancelJob struct {
		Claim scheduler.Claim
		Now   bool
	}
)

// Between the dispatcher and msqs.
type (
	// startMSQ: run this MSQ job. To msqs.
	startMSQ struct{ Job scheduler.Job }
	// msqWaiting: so many items wait for children. From an msq to the dispatcher.
	msqWaiting = intake.MSQWaits
	// grant: deal so many lines to a host. From the dispatcher to an msq.
	grant = intake.Grant
	// nowhere: no host of this instance answers to these names. From the dispatcher to an msq.
	nowhere = intake.Nowhere
	// refund: what a grant left over. From an msq to the dispatcher.
	refund = intake.Refunded
	// msqEnded: the MSQ job is over here. From an msq to the dispatcher, and on to the hosts: places that were
	// granted to it and that it did not take are to be offered anew. Of no claim: of some that an audit did not find.
	msqEnded struct{ Claim scheduler.Claim }
	// answered: what became of items. From children to the msq.
	answered struct{ Results []scheduler.Result }
	// returned: items that no child took. From hosts to the msq.
	returned struct{ Lines []scheduler.Line }
	// hostRestarted: a host's actor is there, and every process of those before it is
	// dead. What was dealt to another than At is lost. To every msq.
	hostRestarted struct {
		Host scheduler.HostName
		At   *actor.PID
	}
)

// From the ledger.
type (
	// settled: the endings of Claims are written, or none of ours to write; those in Back are ready again. Stale ones,
	// of an ending or a start, belong to another owner. To the dispatcher.
	settled struct{ Claims, Stale, Back []scheduler.Claim }
	// flushNow wakes the ledger: something is owed.
	flushNow struct{}
)

// Between a host and its children.
type (
	want   struct{ reservation *reservation } // come up
	assign struct {                           // do these
		Lines   []scheduler.Line
		Returns int // how often the host had got something back from the child by then
	}
	dismiss struct{ Stop scheduler.StopReason } // go
	kill    struct{ Stop scheduler.StopReason } // die
	tripped struct{}                            // do not come up
	kept    struct{ scheduler.Kept }            // until when you are kept from another type: publish it
	woke    struct{}                            // the process has something to say
	tick    struct{}                            // a deadline may have passed
	started struct {                            // the fork is done
		process port.Process
		err     error
	}
	// news: what a child's host has to know after a step.
	news struct {
		Name      scheduler.ChildName
		State     scheduler.ChildState
		Since     time.Time
		Room      int
		Held      int           // lines that it has
		Acked     int           // lines ever given to it
		Healthy   bool          // it finished a line
		Rose      bool          // it said its first OK
		LineTime  time.Duration // what a line takes it; 0: not known
		Died      bool          // without an order
		NotUp     bool          // before it said OK
		Unguarded bool          // its guard died
		Blame     scheduler.Account
		Cut       string           // the line to its host broke: why
		Returned  []scheduler.Line // never started: another child or host may have them
	}
)

// Stopping.
type (
	// finish: claim nothing more; say when nothing runs. To the dispatcher. Take
	// no more rows. To attachments.
	finish struct{ done chan<- string }
	// drainMSQs: give your MSQ jobs back; say when there are none. To msqs, on to each.
	drainMSQs struct{ done chan<- string }
	// leave: end all children; say when none is left. To hosts. All: kill
	// those too that were asked to go and have not.
	leave struct {
		all  bool
		done chan<- string
	}
	// panicNow makes an actor panic: for the test that kills them one by one.
	panicNow struct{}
)

var flush = &flushNow{}
