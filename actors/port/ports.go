// Package port is what the tree of actors is handed: the interfaces through
// which it reaches the world, and what it needs to know of hosts and agents.
package port

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/engine"
	"bellhop/scheduler/lock"
	"bellhop/scheduler/workflow"
)

// Queue is where jobs are claimed.
type Queue interface {
	// Claim takes what the demand asks for, in the order in which it shall start;
	// nothing but an error on a connection that is newer than the last Assert.
	// What was taken before another error comes beside it.
	Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error)
	// Later is when another claim may bring more than the last one did. After one of jobs with locks: after how long a
	// limit per time lets another start, 0 where none is used up; and when the first of the jobs at which it has looked is
	// to be reserved for, zero for none. looked closes when a look is over for jobs that claims leave out; nil: they
	// leave none out.
	Later() (limit time.Duration, ages time.Time, looked <-chan struct{})
}

// Holdings is what the database says this instance holds.
type Holdings interface {
	// Claims says it of these claims and, if they are asked for, of all others: what it says of those may be older by as
	// long as it takes to read them. Where of is nil it says it of all, as it is after every claim made before.
	Claims(ctx context.Context, me scheduler.InstanceID, of []scheduler.Claim, others bool) ([]scheduler.Hold, error)
	// Reassert takes again what runs here and a crash of the database has un-claimed.
	Reassert(ctx context.Context, me scheduler.InstanceID, holds []scheduler.Hold) (int, error)
	// Assert does the same with all that runs here, without which there are no
	// claims on a new connection. While a run is left that is not ours, it only says so.
	Assert(ctx context.Context, me scheduler.InstanceID, all []scheduler.Hold) (scheduler.Asserted, error)
	// LookBack asks another server what it has of what ran here, counts what is
	// missing, and keeps that for operators.
	LookBack(ctx context.Context, me scheduler.InstanceID, b scheduler.LookBack) (gone, again int, err error)
}

// Records writes what the ledger owes.
type Records interface {
	// Write returns the claims that are not ours any more, and whether jobs that
	// waited for what ended are ready now. An error that wraps
	// scheduler.ErrRefused will not go away by trying again; after
	// scheduler.ErrBusy nothing was written.
	Write(ctx context.Context, me scheduler.InstanceID, b scheduler.Batch,
		now time.Time) (stale []scheduler.Claim, released bool, err error)
	// Busy names those of the jobs whose rows another session has locked now.
	Busy(ctx context.Context, jobs []scheduler.JobID) ([]scheduler.JobID, error)
}

// Registry is where instances live.
type Registry interface {
	Register(ctx context.Context) (scheduler.InstanceID, error)
	// Beat returns scheduler.ErrGone when it is too late.
	Beat(ctx context.Context, me scheduler.InstanceID) (scheduler.Beat, error)
	Suspects(ctx context.Context, me scheduler.InstanceID) ([]scheduler.Suspect, error)
}

// Introducer is a Registry that can be told of other agents, and of what hosts take
// now.
type Introducer interface {
	Reintroduce(ctx context.Context, me scheduler.InstanceID) error
}

// Reaper ends instances that are proven dead.
type Reaper interface {
	// Dead reports whether a suspect of this very machine has no process any more.
	Dead(s scheduler.Suspect) bool
	// Reap kills what a dead instance of this machine has left running, and returns when it is dead.
	Reap(ctx context.Context, s scheduler.Suspect) error
	// MarkGone makes what the dead one held ready again.
	MarkGone(ctx context.Context, id scheduler.InstanceID, because string, proven bool) (did bool, jobs int, err error)
}

// Reports is what this instance tells about itself.
type Reports interface {
	// Children tells of all children, and of the bounds that each host has hit.
	Children(ctx context.Context, me scheduler.InstanceID, all []scheduler.ChildReport, hit scheduler.AllBounds,
		now time.Time) error
	Trouble(ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName, hosts map[string]scheduler.Account) error
	// Deaths tells of the last deaths of a type, by host; an empty map: none
	// that a finished line has not followed.
	Deaths(ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName, of map[string]scheduler.Death) error
	// Draining tells since when nothing starts here but a job of an exclusive
	// type that waits; zero: that is over.
	Draining(ctx context.Context, me scheduler.InstanceID, since time.Time) error
}

// HostStates is what this instance tells about its hosts.
type HostStates interface {
	// HostState publishes whether a host can be reached, and if not, why.
	HostState(ctx context.Context, me scheduler.InstanceID, host scheduler.HostName, state scheduler.HostState,
		message string) error
}

// Maintenance is the upkeep of the queue: all that maintenance does, and no other actor.
type Maintenance interface {
	// Due makes ready what the clock says; next is negative when nothing waits for it. Beside an error n tells of what
	// was made ready before.
	Due(ctx context.Context) (n int, next time.Duration, err error)
	// RunCommands carries out the commands that wait in the queue, and tells what is wanted now.
	RunCommands(ctx context.Context, me scheduler.InstanceID) (scheduler.ControlState, error)

	// Reserve has locks kept for the jobs that have waited for long enough by now: so many. It tells when the next one
	// has; zero: never, as things are.
	Reserve(ctx context.Context) (n int, next time.Time, err error)

	// Keys lists the names under which jobs are ready, in order, from behind one on.
	Keys(ctx context.Context, after scheduler.RunOn, most int) ([]scheduler.RunOn, error)
	// Locates reports whether there is a query of the user's that Locate asks.
	Locates() bool
	// Locate finds the hosts of names. What cannot be found is in the map too.
	Locate(ctx context.Context, me scheduler.InstanceID, names []string) (map[string][]scheduler.HostName, error)

	// Backlog counts, by type, the startable jobs that a host with these
	// localities could run, up to one host's slots. Types without any are left
	// out. A type of suspects whose jobs are all row-locked by other transactions
	// is left out too, and returned in locked.
	Backlog(ctx context.Context, types, suspects []scheduler.TypeName,
		localities []string) (waiting []scheduler.Backlog, locked []scheduler.TypeName, err error)
	// ExplainWaiting writes into ready jobs why they do not start.
	ExplainWaiting(ctx context.Context, looker scheduler.Looker) (scheduler.Explained, error)
}

// Locks answers what running jobs ask of locks.
type Locks interface {
	// Ask carries out what jobs of this instance ask. A job without an answer waits, and is to be asked for again;
	// over are those that are not run here any more.
	Ask(ctx context.Context, me scheduler.InstanceID, asks []scheduler.LockAsk) (
		answers map[scheduler.Claim]scheduler.LockAnswer, over []scheduler.Claim, err error)
}

// Steps keeps what runs have done.
type Steps interface {
	// Save returns when the step is committed. It waits while the database is away; ctx ends it. An error fails the run.
	Save(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error
}

// Forecasts finds out how far off is what is foretold of jobs that wait for locks.
type Forecasts interface {
	// Foretell looks which promises are over, and, as a whole, at all that wait: how often is for the caller to pace.
	Foretell(ctx context.Context, whole bool) error
}

// ItemLocks sees to what items of MSQ jobs need beside other jobs.
type ItemLocks interface {
	ReadLocks(texts []string) (lock.Set, error)
	// OwnLocks are those that a job holds, before anything was asked for its items.
	OwnLocks(ctx context.Context, me scheduler.InstanceID, job scheduler.Claim) (lock.Set, error)
	// AskForItems has the job hold what its items need, and no more than that.
	AskForItems(ctx context.Context, me scheduler.InstanceID, job scheduler.Claim, ask lock.ItemsAsk) (
		lock.ItemsAnswer, error)
}

// Attachments are users' tables whose rows are run.
type Attachments interface {
	// Turn writes what became of rows into their tables, and makes ready jobs of
	// those that ask to be run, as far as there is room.
	Turn(ctx context.Context) (scheduler.Turn, error)
}

// Sensors start workflows.
type Sensors interface {
	// Turn makes runs of what is due, and says in how long the next look is wanted; negative: when it is said
	// (scheduler.ControlState). Beside an error fired tells of what was made before.
	Turn(ctx context.Context, me scheduler.InstanceID) (fired int, next time.Duration, err error)
}

// Tags is the book of what runs on engines.
type Tags interface {
	// Look finds the open tags of claims, a nameless one where there is none. A claim that is left out is not ours any
	// more.
	Look(ctx context.Context, me scheduler.InstanceID, claims []scheduler.Claim) (map[scheduler.Claim]engine.Tag, error)
	// Record records tags that are about to be submitted, and returns the claims for which that was done, for good.
	Record(ctx context.Context, me scheduler.InstanceID, engine string, claims []scheduler.Claim) (
		[]scheduler.Claim, error)
	Save(ctx context.Context, me scheduler.InstanceID, rows []engine.Row, now time.Time) error
}

// Leftovers are what is on engines and of no use any more.
type Leftovers interface {
	Sweep(ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName) ([]engine.Ref, error)
	// Swept says that they are gone.
	Swept(ctx context.Context, tags []string) error
}

// EngineCommands runs an engine's commands.
type EngineCommands interface {
	// Run returns when every process of the command is dead: it is killed when ctx ends, and when the lease is over.
	Run(ctx context.Context, call scheduler.EngineCall, lease func() time.Duration) scheduler.EngineSaid
}

// Courier tells people how runs of workflows have ended.
type Courier interface {
	// Turn begins to send what is due, and says in how long the next look is wanted; negative: when it is said
	// (scheduler.ControlState). It calls again whenever a message has ended, from any goroutine.
	Turn(ctx context.Context, me scheduler.InstanceID, again func()) (did int, next time.Duration, err error)
}

// Watches keeps what sensors see that no clock moves.
type Watches interface {
	// Mine are the sensors that this instance watches.
	Mine(ctx context.Context, me scheduler.InstanceID) ([]workflow.Watch, error)
	// Happened keeps events; mine is false where the workflow is another instance's by now, and nothing was kept.
	Happened(ctx context.Context, me scheduler.InstanceID, name string, seen workflow.Sight) (mine bool, err error)
	// Lag tells how many messages of its topic a sensor has not read yet. Failing forgets it.
	Lag(ctx context.Context, me scheduler.InstanceID, name string, lag int64) error
	// Failing tells why a sensor sees nothing; empty: it does again.
	Failing(ctx context.Context, me scheduler.InstanceID, name, why string) error
}

// Lookout sees what happens outside of the queue.
type Lookout interface {
	// Watch calls happened with what a sensor sees, until ctx ends or it cannot go on. What happened has returned no
	// error for is kept. well is called whenever it sees again, and lag now and then, of a topic.
	Watch(ctx context.Context, w workflow.Watch, well func(), lag func(context.Context, int64),
		happened func(context.Context, workflow.Sight) error) error
}

// Retention deletes what was over for long enough.
type Retention interface {
	// Turn makes a pass, if it is time for one and this instance's turn. It may take hours; ctx ends it.
	Turn(ctx context.Context, me scheduler.InstanceID) (deleted int64, err error)
}

// Bell is heard through callbacks that must not block.
type Bell interface {
	// rang says whether it is known to have been an INSERT and nothing else; awaited are jobs for whose end a client
	// waits, followed those whose log a client follows.
	Run(ctx context.Context, rang func(inserted bool), locksRang, cancelRang, dueRang, beat func(),
		awaited, followed func([]scheduler.JobID)) error
	// Cut ends a connection that has gone deaf, so that Run makes a new one.
	Cut()
}

// Gate is what producers look at before they ring.
type Gate interface {
	// Keep makes producers ring until it returns. It calls shut when none is left
	// that did not. It returns nil when ctx has ended, or when it wants to be
	// called anew; an error when it cannot, or cannot any more.
	Keep(ctx context.Context, shut func()) error
	// Contended reports whether producers wait for each other because they ring.
	Contended(ctx context.Context) (bool, error)
}

// Queries opens the queries of MSQ jobs.
type Queries interface {
	// Open returns an error that wraps scheduler.ErrQuery when the query is to blame.
	Open(ctx context.Context, text string) (Rows, error)
}

// Rows streams the rows of one run of a query.
type Rows interface {
	// Next returns some rows; none: the end.
	Next(ctx context.Context) ([][]scheduler.Column, error)
	Close()
}

// Launcher starts children.
type Launcher interface {
	// Launch may block as long as a fork takes. wake is called when Take has
	// something after it had nothing.
	Launch(typ scheduler.TypeName, child scheduler.ChildName, host scheduler.HostName, lease time.Duration,
		wake func()) (Process, error)
	// Reach returns nil when children can be started on the host. It may take
	// many seconds; ctx ends it.
	Reach(ctx context.Context, host scheduler.HostName) error
	// Serves tells the launcher whose children it starts from now on.
	Serves(me scheduler.InstanceID)
}

// Process is a child's process and everything it starts.
type Process interface {
	Feed(lines []scheduler.Line)
	Recall() []scheduler.Line
	Take(into []scheduler.ChildEvent) []scheduler.ChildEvent
	Close()
	Kill()
	Lease(d time.Duration)
	Done() <-chan struct{}
	Pid() int
}

// Observer is told how children and their lines fare. It must not block.
type Observer interface {
	// Up: a child is ready; it was launched then.
	Up(host scheduler.HostName, child scheduler.ChildName, typ scheduler.TypeName, launched, ready time.Time)
	// Died: a child's process ended, or did not come up, without an order of ours.
	Died(typ scheduler.TypeName)
	// Ran: items of MSQ jobs were answered. The slice is not the observer's to keep.
	Ran(items []scheduler.Result)
}
