package actors

import (
	"log/slog"
	"sync/atomic"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/actors/tree"
)

// gatePorts: no other actor shuts the gate.
type gatePorts struct {
	*tree.Peers
	rows *lasting.AttachedRows
	gate port.Gate
	show *atomic.Int32 // scheduler.GateState, for System
	log  *slog.Logger
}

// bellPorts: no other actor listens.
type bellPorts struct {
	*tree.Peers
	began     time.Time // from when hearing counts
	hearing   *hearing
	rows      *lasting.AttachedRows
	awaited   *lasting.Awaited
	followed  *lasting.Awaited
	bell      port.Bell
	heartbeat time.Duration
	every     time.Duration // the safety scan
	log       *slog.Logger
}

// hearing is whether this instance hears its own ring. Read by System.
type hearing struct {
	at     atomic.Int64 // when, in nanoseconds since the identity began. Written by the bell
	missed atomic.Int64 // how often it has rung since: membership counts, the bell starts anew
}
