package engine

import (
	"log/slog"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// Ports: no other actor runs an engine's commands.
type Ports struct {
	*tree.Peers
	*tree.Identity
	Outbox    *lasting.Outbox
	Quotas    lasting.Quotas
	Processes *lasting.Processes // commands that run
	Followed  *lasting.Awaited   // jobs whose logs have followers
	Agents    []port.AgentType
	Tags      port.Tags
	Leftovers port.Leftovers
	Commands  port.EngineCommands
	Retry     func(scheduler.TypeName) scheduler.RetryPolicy
	Log       *slog.Logger
}

func (h *Ports) requeue(l scheduler.Line, why string) {
	lasting.Requeue(h.Peers, h.Outbox, l, why)
}
