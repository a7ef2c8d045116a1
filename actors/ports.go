package actors

import (
	"context"
	"time"

	"bellhop/scheduler"
)

// Queue is where jobs are claimed.
type Queue interface {
	// Claim takes what the demand asks for, in the order in which it shall start.
	Claim(ctx context.Context, me scheduler.InstanceID, d scheduler.Demand) ([]scheduler.Job, error)
	// Due makes ready what the clock says; next is negative when nothing waits for it.
	Due(ctx context.Context) (n int, next time.Duration, err error)
}

// Holdings is what the database says this instance holds.
type Holdings interface {
	Held(ctx context.Context, me scheduler.InstanceID) ([]scheduler.Hold, error)
	// Reassert takes again what runs here and a crash of the database has un-claimed.
	Reassert(ctx context.Context, me scheduler.InstanceID, holds []scheduler.Hold) (int, error)
}

// Records writes what the ledger owes.
type Records interface {
	// Write returns the claims that are not ours any more. An error that wraps
	// scheduler.ErrRefused will not go away by trying again.
	Write(ctx context.Context, me scheduler.InstanceID, b scheduler.Batch, now time.Time) (stale []scheduler.Claim, err error)
}

// Registry is where instances live.
type Registry interface {
	Register(ctx context.Context) (scheduler.InstanceID, error)
	// Beat returns scheduler.ErrBuried when it is too late.
	Beat(ctx context.Context, me scheduler.InstanceID) error
	Suspects(ctx context.Context, me scheduler.InstanceID) ([]scheduler.Suspect, error)
}

// Undertaker ends instances that are proven dead.
type Undertaker interface {
	// Dead reports whether a suspect of this very machine has no process any more.
	Dead(s scheduler.Suspect) bool
	// Sweep kills what a dead instance of this machine has left running, and returns when it is dead.
	Sweep(ctx context.Context, s scheduler.Suspect) error
	// Bury makes what the dead one held ready again.
	Bury(ctx context.Context, id scheduler.InstanceID, because string, proven bool) (did bool, jobs int, err error)
}

// Notices is what this instance tells about itself.
type Notices interface {
	Children(ctx context.Context, me scheduler.InstanceID, all []scheduler.ChildReport, now time.Time) error
	Trouble(ctx context.Context, me scheduler.InstanceID, typ scheduler.TypeName, hosts map[string]string) error
	// MarkWaiting writes into ready jobs why they do not start.
	MarkWaiting(ctx context.Context) (unknown []scheduler.TypeName, err error)
}

// Bell is heard through callbacks that must not block.
type Bell interface {
	Run(ctx context.Context, rang, cancelRang, dueRang, beat func()) error
	// Cut ends a connection that has gone deaf, so that Run makes a new one.
	Cut()
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
	Launch(typ scheduler.TypeName, child scheduler.ChildName, host scheduler.HostName, lease time.Duration, wake func()) (Process, error)
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
