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

// What each actor is handed: the ports that it may touch, the parts of the
// instance that it shares with others, and its peers. A goroutine that an actor
// starts takes a copy; what Receive owns is not in it. The dispatcher, hosts and
// children have the whole instance.

// ledgerPorts: no other actor writes outcomes.
type ledgerPorts struct {
	*tree.Peers
	*tree.Identity
	outbox   *lasting.Outbox
	recent   *recent
	awaited  *lasting.Awaited
	rows     *lasting.AttachedRows
	records  port.Records
	holdings port.Holdings
	log      *slog.Logger
}

func (inst *instance) forLedger() ledgerPorts {
	return ledgerPorts{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		outbox:   inst.outbox,
		recent:   &inst.recent,
		awaited:  &inst.awaited,
		rows:     inst.rows,
		records:  inst.Records,
		holdings: inst.Holdings,
		log:      inst.Log,
	}
}

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

func (inst *instance) forMembership() membershipPorts {
	return membershipPorts{
		Peers:      inst.Peers,
		Identity:   inst.Identity,
		quotas:     inst.quotas,
		hearing:    &inst.hearing,
		registry:   inst.Registry,
		reaper:     inst.Reaper,
		reports:    inst.Reports,
		hostStates: inst.HostStates,
		serves:     inst.Launcher.Serves,
		heartbeat:  inst.Heartbeat,
		lag:        inst.Lag,
		log:        inst.Log,
	}
}

// maintenancePorts: no other actor does the upkeep of the queue.
type maintenancePorts struct {
	*tree.Peers
	*tree.Identity
	rows  *lasting.AttachedRows
	queue port.Maintenance
	seers port.Forecasts // nil: nothing is foretold
	hosts func() []scheduler.Locality
	scan  time.Duration
	stop  func(scheduler.Stop) // nil: not told
	log   *slog.Logger
}

func (inst *instance) forMaintenance() maintenancePorts {
	return maintenancePorts{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		rows:     inst.rows,
		queue:    inst.Maintenance,
		seers:    inst.Forecasts,
		hosts:    inst.localities,
		scan:     inst.Scan,
		stop:     inst.Stop,
		log:      inst.Log,
	}
}

// gatePorts: no other actor shuts the gate.
type gatePorts struct {
	*tree.Peers
	rows *lasting.AttachedRows
	gate port.Gate
	show *atomic.Int32 // scheduler.GateState, for System
	log  *slog.Logger
}

func (inst *instance) forGate() gatePorts {
	return gatePorts{Peers: inst.Peers, rows: inst.rows, gate: inst.Gate, show: &inst.gateIs, log: inst.Log}
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

func (inst *instance) forBell() bellPorts {
	return bellPorts{
		Peers:     inst.Peers,
		began:     inst.Began,
		hearing:   &inst.hearing,
		rows:      inst.rows,
		awaited:   &inst.awaited,
		followed:  &inst.followed,
		bell:      inst.Bell,
		heartbeat: inst.Heartbeat,
		every:     inst.Scan,
		log:       inst.Log,
	}
}

// attachmentsPorts: no other actor touches users' tables.
type attachmentsPorts struct {
	*tree.Peers
	rows   *lasting.AttachedRows
	tables port.Attachments // nil: no tables are looked at
	log    *slog.Logger
}

func (inst *instance) forAttachments() attachmentsPorts {
	return attachmentsPorts{Peers: inst.Peers, rows: inst.rows, tables: inst.Attachments, log: inst.Log}
}

// sensorsPorts: no other actor starts workflows.
type sensorsPorts struct {
	*tree.Peers
	*tree.Identity
	clock port.Sensors // nil: no workflow starts
	log   *slog.Logger
}

func (inst *instance) forSensors() sensorsPorts {
	return sensorsPorts{Peers: inst.Peers, Identity: inst.Identity, clock: inst.Sensors, log: inst.Log}
}

// courierPorts: no other actor sends messages.
type courierPorts struct {
	*tree.Peers
	*tree.Identity
	sender port.Courier // nil: no notices are sent
	log    *slog.Logger
}

func (inst *instance) forCourier() courierPorts {
	return courierPorts{Peers: inst.Peers, Identity: inst.Identity, sender: inst.Courier, log: inst.Log}
}

// watchesPorts: no other actor looks out for what happens outside of the queue.
type watchesPorts struct {
	*tree.Peers
	*tree.Identity
	kept    port.Watches // nil: nothing is watched
	lookout port.Lookout
	log     *slog.Logger
}

func (inst *instance) forWatches() watchesPorts {
	return watchesPorts{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		kept:     inst.Watches,
		lookout:  inst.Lookout,
		log:      inst.Log,
	}
}

// keeperPorts: no other actor deletes what is over.
type keeperPorts struct {
	*tree.Peers
	*tree.Identity
	retention port.Retention // nil: nothing is ever deleted
	every     time.Duration
	log       *slog.Logger
}

func (inst *instance) forKeeper() keeperPorts {
	return keeperPorts{
		Peers:     inst.Peers,
		Identity:  inst.Identity,
		retention: inst.Retention,
		every:     inst.RetentionEvery,
		log:       inst.Log,
	}
}

// locksPorts: no other actor answers what running jobs ask of locks.
type locksPorts struct {
	*tree.Peers
	*tree.Identity
	asked *lockAsks
	desk  port.Locks // nil: no locks are kept
	log   *slog.Logger
}

func (inst *instance) forLocks() locksPorts {
	return locksPorts{Peers: inst.Peers, Identity: inst.Identity, asked: &inst.lockAsks, desk: inst.Locks, log: inst.Log}
}

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

func (inst *instance) forMSQ() msqPorts {
	return msqPorts{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		desk:     inst.ItemLocks,
		outbox:   inst.outbox,
		queries:  inst.Queries,
		mayName:  inst.mayName,
		retry:    inst.retryOf,
		log:      inst.Log,
	}
}
