package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/dispatch"
	"bellhop/actors/engine"
	"bellhop/actors/host"
	"bellhop/actors/ledger"
	"bellhop/actors/member"
	"bellhop/actors/msq"
	"bellhop/actors/port"
	"bellhop/actors/upkeep"
	"bellhop/actors/wake"
	"bellhop/scheduler"
)

// What each actor is handed: the ports that it may touch, the parts of the
// instance that it shares with others, and its peers. A goroutine that an actor
// starts takes a copy; what Receive owns is not in it. The dispatcher, hosts,
// children and engines share theirs.

func (inst *instance) forLedger() ledger.Ports {
	return ledger.Ports{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		Outbox:   inst.outbox,
		Recent:   &inst.recent,
		Awaited:  &inst.awaited,
		Rows:     inst.rows,
		Records:  inst.Records,
		Holdings: inst.Holdings,
		Log:      inst.Log,
	}
}

func (inst *instance) forMembership() member.Ports {
	return member.Ports{
		Peers:      inst.Peers,
		Identity:   inst.Identity,
		Quotas:     inst.quotas,
		Missed:     inst.hearing.Beats(),
		Registry:   inst.Registry,
		Reaper:     inst.Reaper,
		Reports:    inst.Reports,
		HostStates: inst.HostStates,
		Serves:     inst.Launcher.Serves,
		Heartbeat:  inst.Heartbeat,
		Lag:        inst.Lag,
		Log:        inst.Log,
	}
}

func (inst *instance) forMaintenance() upkeep.MaintenancePorts {
	return upkeep.MaintenancePorts{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		Rows:     inst.rows,
		Queue:    inst.Maintenance,
		Seers:    inst.Forecasts,
		Hosts:    inst.localities,
		Scan:     inst.Scan,
		Stop:     inst.Stop,
		Log:      inst.Log,
	}
}

func (inst *instance) forGate() wake.GatePorts {
	return wake.GatePorts{Peers: inst.Peers, Rows: inst.rows, Gate: inst.Gate, Show: &inst.gateIs, Log: inst.Log}
}

func (inst *instance) forBell() wake.BellPorts {
	return wake.BellPorts{
		Peers:     inst.Peers,
		Began:     inst.Began,
		Hearing:   &inst.hearing,
		Rows:      inst.rows,
		Awaited:   &inst.awaited,
		Followed:  &inst.followed,
		Bell:      inst.Bell,
		Heartbeat: inst.Heartbeat,
		Every:     inst.Scan,
		Log:       inst.Log,
	}
}

func (inst *instance) forAttachments() upkeep.AttachmentsPorts {
	return upkeep.AttachmentsPorts{Peers: inst.Peers, Rows: inst.rows, Tables: inst.Attachments, Log: inst.Log}
}

func (inst *instance) forSensors() upkeep.SensorsPorts {
	return upkeep.SensorsPorts{Peers: inst.Peers, Identity: inst.Identity, Clock: inst.Sensors, Log: inst.Log}
}

func (inst *instance) forCourier() upkeep.CourierPorts {
	return upkeep.CourierPorts{Peers: inst.Peers, Identity: inst.Identity, Sender: inst.Courier, Log: inst.Log}
}

func (inst *instance) forWatches() upkeep.WatchesPorts {
	return upkeep.WatchesPorts{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		Kept:     inst.Watches,
		Lookout:  inst.Lookout,
		Log:      inst.Log,
	}
}

func (inst *instance) forKeeper() upkeep.KeeperPorts {
	return upkeep.KeeperPorts{
		Peers:     inst.Peers,
		Identity:  inst.Identity,
		Retention: inst.Retention,
		Every:     inst.RetentionEvery,
		Log:       inst.Log,
	}
}

func (inst *instance) forLocks() upkeep.LocksPorts {
	return upkeep.LocksPorts{Peers: inst.Peers, Identity: inst.Identity, Asked: &inst.lockAsks, Desk: inst.Locks,
		Log: inst.Log}
}

func (inst *instance) forMSQ() msq.Ports {
	return msq.Ports{
		Peers:    inst.Peers,
		Identity: inst.Identity,
		Desk:     inst.ItemLocks,
		Outbox:   inst.outbox,
		Queries:  inst.Queries,
		Hosts:    inst.localities,
		Orphaned: inst.orphans.Has,
		MayName:  inst.mayName,
		Retry:    inst.retryOf,
		Log:      inst.Log,
	}
}

func (inst *instance) forDispatcher() *dispatch.Ports {
	return &dispatch.Ports{
		Peers:          inst.Peers,
		Identity:       inst.Identity,
		Live:           &inst.live,
		Outbox:         inst.outbox,
		Rows:           inst.rows,
		Orphans:        &inst.orphans,
		Confirmed:      inst.recent.Since,
		Queue:          inst.Queue,
		Holdings:       inst.Holdings,
		Locates:        inst.Maintenance.Locates,
		RowType:        inst.RowType,
		ExclusiveAfter: inst.ExclusiveAfter,
		Scan:           inst.Scan,
		Lag:            inst.Lag,
		Cursors:        inst.Cursors,
		Log:            inst.Log,
	}
}

func (inst *instance) forHosts() *host.Ports {
	return &host.Ports{
		Peers:     inst.Peers,
		Identity:  inst.Identity,
		Live:      &inst.live,
		Outbox:    inst.outbox,
		Quotas:    inst.quotas,
		Processes: inst.processes,
		Rows:      inst.rows,
		Orphans:   &inst.orphans,
		Alive:     &inst.alive,
		Launches:  &inst.launches,
		Launcher:  inst.Launcher,
		Observer:  inst.Observer,
		RowType:   inst.RowType,
		Retry:     inst.retryOf,
		Engine:    func(spec port.HostSpec) actor.Actor { return engine.New(inst.forEngine(spec.Name), spec) },
		Log:       inst.Log,
	}
}

func (inst *instance) forEngine(host scheduler.HostName) *engine.Ports {
	return &engine.Ports{
		Peers:     inst.Peers,
		Identity:  inst.Identity,
		Outbox:    inst.outbox,
		Quotas:    inst.quotas,
		Processes: inst.processes[host],
		Followed:  &inst.followed,
		Agents:    inst.setup().Agents,
		Tags:      inst.Tags,
		Leftovers: inst.Leftovers,
		Commands:  inst.EngineCommands,
		Retry:     inst.retryOf,
		Log:       inst.Log,
	}
}

// mayName reports whether a name means something here: a host serves it, or the
// user's query knows such names.
func (inst *instance) mayName(name string) bool {
	return inst.Maintenance.Locates() || scheduler.HostsOf(inst.localities(), name) != nil
}

func (inst *instance) localities() []scheduler.Locality {
	list := make([]scheduler.Locality, len(inst.setup().Hosts))
	for i, spec := range inst.setup().Hosts {
		list[i] = scheduler.Locality{Host: spec.Name, Serves: spec.Serves}
	}
	return list
}
