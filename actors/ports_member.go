package actors

import (
	"log/slog"
	"sync/atomic"
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
	missed         *atomic.Int64 // heartbeats since the last ring that was heard
	registry       port.Registry
	reaper         port.Reaper
	reports        port.Reports
	hostStates     port.HostStates
	serves         func(scheduler.InstanceID) // tells the launcher whose children it starts
	heartbeat, lag time.Duration
	log            *slog.Logger
}
