package dispatch

import (
	"log/slog"
	"sync/atomic"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// Ports: no other actor claims.
type Ports struct {
	*tree.Peers
	*tree.Identity
	Live           *atomic.Pointer[port.Setup]
	Outbox         *lasting.Outbox
	Rows           *lasting.AttachedRows
	Orphans        *lasting.Orphans
	Confirmed      func(since time.Time) []scheduler.Run // the last outcomes that the database has confirmed
	Queue          port.Queue
	Holdings       port.Holdings
	Locates        func() bool // there is a query of the user's that knows names in run_on
	RowType        scheduler.TypeName
	ExclusiveAfter time.Duration
	Scan, Lag      time.Duration
	Cursors        int
	Log            *slog.Logger
}

func (h *Ports) setup() *port.Setup { return h.Live.Load() }
