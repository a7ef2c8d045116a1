package actors

import (
	"log/slog"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// msqPorts: no other actor runs users' queries.
type msqPorts struct {
	*tree.Peers
	*tree.Identity
	desk    port.ItemLocks // nil: no locks are kept
	outbox  *lasting.Outbox
	queries port.Queries
	mayName func(name string) bool // it means something in run_on
	retry   func(scheduler.TypeName) scheduler.RetryPolicy
	log     *slog.Logger
}
