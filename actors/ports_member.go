package actors

import (
	"log/slog"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// membershipPorts: no other actor changes our identity, or divides a type's max.
type membershipPorts struct {
	*tree.Peers
	*tree.Identity
	quotas         lasting.Quotas
	hearing        *hearing
	registry       port.Registry
	reaper         port.Reaper
	reports        port.Reports
	hostStates     port.HostStates
	serves         func(scheduler.InstanceID) // tells the launcher whose children it starts
	heartbeat, lag time.Duration
	log            *slog.Logger
}
