package actors

import (
	"log/slog"
	"sync/atomic"
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/ledger"
	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/actors/tree"
	"bellhop/actors/upkeep"
	"bellhop/actors/wake"
	"bellhop/scheduler"
)

// Config is everything a System needs.
type Config struct {
	Hosts     []port.HostSpec
	Agents    []port.AgentType
	Heartbeat time.Duration
	Lag       time.Duration
	Respawn   scheduler.RespawnPolicy
	Idle      time.Duration
	MinReady  time.Duration
	KillAfter time.Duration
	Scan      time.Duration // the safety scan
	// ExclusiveAfter is how long an instance may be at work without a pause
	// before a job of an exclusive type that waits keeps others from starting.
	ExclusiveAfter time.Duration
	Cursors        int // MSQ jobs at once
	Retry          scheduler.RetryPolicy
	Log            *slog.Logger
	Stop           func(scheduler.Stop) // told, without blocking, when an operator wants this instance to stop

	Queue       port.Queue
	Holdings    port.Holdings
	Records     port.Records
	Registry    port.Registry
	Reaper      port.Reaper
	Reports     port.Reports
	Maintenance port.Maintenance
	HostStates  port.HostStates
	Bell        port.Bell
	Gate        port.Gate
	Queries     port.Queries
	Launcher    port.Launcher
	Observer    port.Observer // nil: not observed

	Locks       port.Locks       // nil: no locks are kept
	ItemLocks   port.ItemLocks   // the same
	Steps       port.Steps       // nil: no steps are kept
	Attachments port.Attachments // nil: no tables are looked at
	Sensors     port.Sensors     // nil: no workflow starts
	Courier     port.Courier     // nil: no notices are sent
	Forecasts   port.Forecasts   // nil: nothing is foretold

	// Of hosts that are engines.
	Tags           port.Tags
	Leftovers      port.Leftovers
	EngineCommands port.EngineCommands

	Watches   port.Watches   // nil: nothing is watched
	Lookout   port.Lookout   // of what Watches names
	Retention port.Retention // nil: nothing is ever deleted
	// RetentionEvery is how long after a pass of Retention another one is wanted; 0: none.
	RetentionEvery time.Duration
	// RowType is the type of jobs that are rows of attached tables with commands of their own: not claimed while no
	// table is attached. Empty: none.
	RowType scheduler.TypeName
}

// instance is what outlives a single actor. Each part guards itself, and names its writer; parts.go says which
// actor is handed which.
type instance struct {
	Config                            // but for what is in Setup: that is read from live
	live   atomic.Pointer[port.Setup] // written by System.Reload, read by all
	*tree.Peers
	*tree.Identity
	outbox   *lasting.Outbox
	recent   ledger.Recent   // written by the ledger, read by the dispatcher
	awaited  lasting.Awaited // written by the bell, read by the ledger and by all that owe
	followed lasting.Awaited // written by the bell, read by hosts of engines: jobs whose logs have followers
	// a part of each type's max: membership; how many there are: hosts, and children for their processes
	quotas    lasting.Quotas
	hearing   wake.Hearing
	processes map[scheduler.HostName]*lasting.Processes // written by children and hosts, read by hosts
	rows      *lasting.AttachedRows
	lockAsks  upkeep.LockAsks // written by agents, and by locks
	alive     atomic.Int64    // processes of this instance. Written by children, read by System
	launches  atomic.Int64    // and how many there ever were
	orphans   lasting.Orphans // written by children, read by dispatcher and msqs
	gateIs    atomic.Int32    // scheduler.GateState. Written by the gate, read by System
}

func newInstance(cfg Config) *instance {
	p := tree.NewPeers()
	inst := &instance{
		Config:    cfg,
		Peers:     p,
		Identity:  &tree.Identity{Began: time.Now()},
		quotas:    lasting.NewQuotas(cfg.Agents),
		rows:      &lasting.AttachedRows{Peers: p},
		processes: map[scheduler.HostName]*lasting.Processes{},
	}
	inst.outbox = lasting.NewOutbox(func() { p.Tell(message.RoleLedger, message.Flush) }, &inst.awaited)
	inst.live.Store(&port.Setup{Hosts: cfg.Hosts, Agents: cfg.Agents, Respawn: cfg.Respawn, Idle: cfg.Idle,
		MinReady: cfg.MinReady, KillAfter: cfg.KillAfter})
	for _, host := range cfg.Hosts {
		inst.processes[host.Name] = lasting.NewProcesses()
	}
	return inst
}

func (inst *instance) setup() *port.Setup { return inst.live.Load() }

// retryOf says when jobs of a type are tried again.
func (inst *instance) retryOf(t scheduler.TypeName) scheduler.RetryPolicy {
	agents := inst.setup().Agents
	for i := range agents {
		if agents[i].Name == t && agents[i].Retry != nil {
			return *agents[i].Retry
		}
	}
	return inst.Retry
}
