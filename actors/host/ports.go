package host

import (
	"log/slog"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// Ports: no other actors have children. Hosts and their children share it.
type Ports struct {
	*tree.Peers
	*tree.Identity
	Live      *atomic.Pointer[port.Setup]
	Outbox    *lasting.Outbox
	Quotas    lasting.Quotas
	Processes map[scheduler.HostName]*lasting.Processes
	Rows      *lasting.AttachedRows
	Orphans   *lasting.Orphans
	Alive     *atomic.Int64 // processes of this instance
	Launches  *atomic.Int64 // and how many there ever were
	Launcher  port.Launcher
	Observer  port.Observer // nil: not observed
	RowType   scheduler.TypeName
	Retry     func(scheduler.TypeName) scheduler.RetryPolicy
	Engine    func(port.HostSpec) actor.Actor // of hosts that are engines
	Log       *slog.Logger
}

func (h *Ports) setup() *port.Setup { return h.Live.Load() }

// dormant reports whether there can be no job of a type just now.
func (h *Ports) dormant(t scheduler.TypeName) bool {
	return t == h.RowType && !h.Rows.Attached.Load()
}

func (h *Ports) requeue(l scheduler.Line, why string) { lasting.Requeue(h.Peers, h.Outbox, l, why) }
