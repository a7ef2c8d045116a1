package actors

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/port"
	"bellhop/actors/tree"
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
	outbox    *outbox
	recent    recent  // written by the ledger, read by the dispatcher
	awaited   awaited // written by the bell, read by the ledger and by all that owe
	followed  awaited // written by the bell, read by hosts of engines: jobs whose logs have followers
	quotas    quotas  // a part of each type's max: membership; how many there are: hosts, and children for their processes
	hearing   hearing
	processes map[scheduler.HostName]*liveProcesses // written by children and hosts, read by hosts
	rows      *attachedRows
	lockAsks  lockAsks     // written by agents, and by locks
	alive     atomic.Int64 // processes of this instance. Written by children, read by System
	launches  atomic.Int64 // and how many there ever were
	orphans   orphans      // written by children, read by dispatcher and msqs
	gateIs    atomic.Int32 // scheduler.GateState. Written by the gate, read by System
}

// hearing is whether this instance hears its own ring. Read by System.
type hearing struct {
	at     atomic.Int64 // when, in nanoseconds since the identity began. Written by the bell
	missed atomic.Int64 // how often it has rung since: membership counts, the bell starts anew
}

// attachedRows says whether there are attached tables: written by maintenance
// and attachments, read by all that might look for rows.
type attachedRows struct {
	*tree.Peers
	attached atomic.Bool
}

var scanRowsNow = &message.ScanRows{}

// scan tells of a reason to look at attached tables, where there are any.
func (r *attachedRows) scan() {
	if r.attached.Load() {
		r.Tell(message.RoleAttachments, scanRowsNow)
	}
}

func newInstance(cfg Config) *instance {
	p := tree.NewPeers()
	inst := &instance{
		Config:    cfg,
		Peers:     p,
		Identity:  &tree.Identity{Began: time.Now()},
		quotas:    newQuotas(cfg.Agents),
		rows:      &attachedRows{Peers: p},
		processes: map[scheduler.HostName]*liveProcesses{},
	}
	inst.outbox = newOutbox(func() { p.Tell(message.RoleLedger, message.Flush) }, &inst.awaited)
	inst.live.Store(&port.Setup{Hosts: cfg.Hosts, Agents: cfg.Agents, Respawn: cfg.Respawn, Idle: cfg.Idle,
		MinReady: cfg.MinReady, KillAfter: cfg.KillAfter})
	for _, host := range cfg.Hosts {
		inst.processes[host.Name] = newLiveProcesses()
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

// dormant reports whether there can be no job of a type just now.
func (inst *instance) dormant(t scheduler.TypeName) bool {
	return t == inst.RowType && !inst.rows.attached.Load()
}

// quotas counts the children of each type over all hosts of this instance, and
// knows this instance's part of the type's max.
type quotas struct{ types *sync.Map } // *typeQuota by scheduler.TypeName; none ever goes

type typeQuota struct {
	max         atomic.Int64 // 0: no limit
	part, alive atomic.Int64
}

func newQuotas(agents []port.AgentType) quotas {
	c := quotas{&sync.Map{}}
	for _, a := range agents {
		of := c.of(a.Name)
		of.max.Store(int64(a.Max))
		of.part.Store(int64(a.Max))
	}
	return c
}

// of is the quota of a type; of one that was not there before, without a limit.
func (c quotas) of(t scheduler.TypeName) *typeQuota {
	if of, known := c.types.Load(t); known {
		return of.(*typeQuota)
	}
	of, _ := c.types.LoadOrStore(t, &typeQuota{})
	return of.(*typeQuota)
}

// reload takes other limits. What is this instance's part of a higher one, the
// next heartbeat says.
func (c quotas) reload(agents []port.AgentType) {
	for _, a := range agents {
		of, limit := c.of(a.Name), int64(a.Max)
		if limit > 0 {
			of.part.Store(min(limit, of.part.Load()))
		}
		of.max.Store(limit)
	}
}

// room is how many more children of the type this instance may have.
func (t *typeQuota) room() int {
	if t.max.Load() == 0 {
		return 1 << 20
	}
	return max(0, int(t.part.Load()-t.alive.Load()))
}

// reservation is a place in the quotas that a host has taken for a child to come:
// counted at once, or several could be taken where there is one. It is the
// process's as soon as that is launched, and given back if it never is.
type reservation struct{ settled atomic.Bool }

func (t *typeQuota) reserve() *reservation { // nil: another host was quicker
	for {
		alive := t.alive.Load()
		if t.max.Load() > 0 && alive >= t.part.Load() {
			return nil
		}
		if t.alive.CompareAndSwap(alive, alive+1) {
			return &reservation{}
		}
	}
}

func (t *typeQuota) release(reservation *reservation) {
	if reservation != nil && reservation.settled.CompareAndSwap(false, true) {
		t.alive.Add(-1)
	}
}

// divide gives this instance its part of each type's max, among the live
// instances that serve the type. It reports whether anything changed.
func (c quotas) divide(me scheduler.InstanceID, others []scheduler.Suspect) (changed bool) {
	for key, value := range c.types.Range {
		t, of := key.(scheduler.TypeName), value.(*typeQuota)
		limit := int(of.max.Load())
		if limit == 0 {
			continue
		}
		rank, n := 0, 1
		for _, o := range others {
			if slices.Contains(o.Types, t) {
				n++
				if o.ID < me {
					rank++
				}
			}
		}
		part := int64(scheduler.Share(limit, rank, n))
		changed = of.part.Swap(part) != part || changed
	}
	return changed
}

// orphans are the claims in processes whose actor has died: they are not lost,
// and go back when the process is dead.
type orphans struct {
	mu     sync.Mutex
	claims map[scheduler.Claim]int
}

func (o *orphans) add(lines []scheduler.Line, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claims == nil {
		o.claims = map[scheduler.Claim]int{}
	}
	for _, l := range lines {
		if o.claims[l.Claim] += n; o.claims[l.Claim] <= 0 {
			delete(o.claims, l.Claim)
		}
	}
}

// all lists them.
func (o *orphans) all() map[scheduler.Claim]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[scheduler.Claim]bool, len(o.claims))
	for c := range o.claims {
		all[c] = true
	}
	return all
}

func (o *orphans) has(c scheduler.Claim) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.claims[c] > 0
}
