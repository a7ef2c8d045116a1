package msq

import (
	"log/slog"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// Ports: no other actor runs users' queries.
type Ports struct {
	*tree.Peers
	*tree.Identity
	Desk     port.ItemLocks // nil: no locks are kept
	Outbox   *lasting.Outbox
	Queries  port.Queries
	Hosts    func() []scheduler.Locality
	Orphaned func(scheduler.Claim) bool // a process whose actor has died may have items of it
	MayName  func(name string) bool     // it means something in run_on
	Retry    func(scheduler.TypeName) scheduler.RetryPolicy
	Log      *slog.Logger
}
