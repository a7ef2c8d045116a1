// Package upkeep has the actors beside the hot path: timed work on the queue,
// locks that running jobs ask for, attached tables, and what starts workflows.
package upkeep

import (
	"log/slog"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// MaintenancePorts: no other actor does the upkeep of the queue.
type MaintenancePorts struct {
	*tree.Peers
	*tree.Identity
	Rows  *lasting.AttachedRows
	Queue port.Maintenance
	Seers port.Forecasts // nil: nothing is foretold
	Hosts func() []scheduler.Locality
	Scan  time.Duration
	Stop  func(scheduler.Stop) // nil: not told
	Log   *slog.Logger
}

// AttachmentsPorts: no other actor touches users' tables.
type AttachmentsPorts struct {
	*tree.Peers
	Rows   *lasting.AttachedRows
	Tables port.Attachments // nil: no tables are looked at
	Log    *slog.Logger
}

// SensorsPorts: no other actor starts workflows.
type SensorsPorts struct {
	*tree.Peers
	*tree.Identity
	Clock port.Sensors // nil: no workflow starts
	Log   *slog.Logger
}

// CourierPorts: no other actor sends messages.
type CourierPorts struct {
	*tree.Peers
	*tree.Identity
	Sender port.Courier // nil: no notices are sent
	Log    *slog.Logger
}

// WatchesPorts: no other actor looks out for what happens outside of the queue.
type WatchesPorts struct {
	*tree.Peers
	*tree.Identity
	Kept    port.Watches // nil: nothing is watched
	Lookout port.Lookout
	Log     *slog.Logger
}

// KeeperPorts: no other actor deletes what is over.
type KeeperPorts struct {
	*tree.Peers
	*tree.Identity
	Retention port.Retention // nil: nothing is ever deleted
	Every     time.Duration
	Log       *slog.Logger
}

// LocksPorts: no other actor answers what running jobs ask of locks.
type LocksPorts struct {
	*tree.Peers
	*tree.Identity
	Asked *LockAsks
	Desk  port.Locks // nil: no locks are kept
	Log   *slog.Logger
}
