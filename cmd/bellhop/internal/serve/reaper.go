package serve

import (
	"context"

	"bellhop/agents"
	"bellhop/machine"
	"bellhop/scheduler"
	"bellhop/sql/store"
)

// reaper ends instances of this machine whose process is gone, and buries
// all that are proven dead.
type reaper struct {
	*store.Registry
	machine string
}

func (u reaper) Dead(s scheduler.Suspect) bool {
	if u.machine == "" || s.Machine != u.machine {
		return false
	}
	start, err := machine.ProcessStart(s.Pid)
	return err == nil && start != s.ProcessStart
}

func (u reaper) Reap(ctx context.Context, s scheduler.Suspect) error {
	return agents.KillLeftovers(ctx, s)
}
