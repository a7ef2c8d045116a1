package member

import (
	"log/slog"
	"sync/atomic"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// Ports: no other actor changes our identity, or divides a type's max.
type Ports struct {
	*tree.Peers
	*tree.Identity
	Quotas         lasting.Quotas
	Missed         *atomic.Int64 // heartbeats since the last ring that was heard
	Registry       port.Registry
	Reaper         port.Reaper
	Reports        port.Reports
	HostStates     port.HostStates
	Serves         func(scheduler.InstanceID) // tells the launcher whose children it starts
	Heartbeat, Lag time.Duration
	Log            *slog.Logger
}
