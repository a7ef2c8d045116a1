package wake

import (
	"log/slog"
	"sync/atomic"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
)

// GatePorts: no other actor shuts the gate.
type GatePorts struct {
	*tree.Peers
	Rows *lasting.AttachedRows
	Gate port.Gate
	Show *atomic.Int32 // scheduler.GateState, for System
	Log  *slog.Logger
}

// BellPorts: no other actor listens.
type BellPorts struct {
	*tree.Peers
	Began     time.Time // from when hearing counts
	Hearing   *Hearing
	Rows      *lasting.AttachedRows
	Awaited   *lasting.Awaited
	Followed  *lasting.Awaited
	Bell      port.Bell
	Heartbeat time.Duration
	Every     time.Duration // the safety scan
	Log       *slog.Logger
}

// Hearing is whether this instance hears its own ring. Read by System.
type Hearing struct {
	at     atomic.Int64 // when, in nanoseconds since the identity began. Written by the bell
	missed atomic.Int64 // how often it has rung since: membership counts, the bell starts anew
}

// Deaf reports whether this instance has not heard itself for longer than a new connection takes.
func (h *Hearing) Deaf() bool { return h.missed.Load() > deafAfter+1 }

// Age is how long ago this instance last heard its own ring; began is when its identity did.
func (h *Hearing) Age(began time.Time) time.Duration {
	return time.Since(began) - time.Duration(h.at.Load())
}

// Beats counts heartbeats since the last ring that was heard: for membership.
func (h *Hearing) Beats() *atomic.Int64 { return &h.missed }
