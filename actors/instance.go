package actors

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/scheduler"
)

// AgentType is what the tree needs to know of an agent; how it is started is
// the launcher's business.
type AgentType struct {
	Name         scheduler.TypeName
	Max          int // children at once over all instances; 0: as many as there are slots
	MaxPerHost   int
	Exec         bool // one process per job: an idle child has none
	Local        bool // not on hosts that are Far
	Exclusive    bool // nothing else runs on this instance beside it
	Locked       bool // it says which locks all its jobs need
	Timeout      time.Duration
	StartTimeout time.Duration
}

// HostSpec is a place where children run.
type HostSpec struct {
	Name   scheduler.HostName
	Slots  int
	Far    bool     // not this machine: it has to be reached first, and may be lost
	Serves []string // patterns of the locality keys it answers to
	// Only are the types it takes; empty: every one.
	Only []scheduler.TypeName
	// Takes is what it takes of these; nil: every job.
	Takes *scheduler.Only
}

// Config is everything a System needs.
type Config struct {
	Hosts     []HostSpec
	Agents    []AgentType
	Heartbeat time.Duration
	Lag       time.Duration
	Grace     time.Duration
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

	Queue       Queue
	Holdings    Holdings
	Records     Records
	Registry    Registry
	Reaper      Reaper
	Notices     Notices
	Maintenance Maintenance
	HostStates  HostStates
	Bell        Bell
	Gate        Gate
	Queries     Queries
	Launcher    Launcher
	Observer    Observer // nil: nobody looks on

	Attachments Attachments // nil: no tables are looked at
	// RowType is the type of jobs that are rows of attached tables with commands
	// of their own: nobody looks for any while nothing is attached. Empty: none.
	RowType scheduler.TypeName
}

// instance is what outlives a single actor: what is owed to the database, who we
// are, and how to reach the others. Each part guards itself.
type instance struct {
	Config
	system      *actor.ActorSystem
	outbox      *outbox
	quotas      quotas
	me          atomic.Int64 // scheduler.InstanceID; 0: not registered
	lease       atomic.Int64 // unix nanoseconds on the local clock's monotonic base, see leaseLeft
	began       time.Time    // base of lease: a monotonic clock reading
	heard       atomic.Int64 // when the bell last heard our own ring, like lease
	missedRings atomic.Int64 // how often we have rung since: with every heartbeat that gets through
	processes   map[scheduler.HostName]*liveProcesses
	attached    atomic.Bool  // there are attached tables
	alive       atomic.Int64 // processes of this instance
	launches    atomic.Int64 // and how many there ever were
	orphans     orphans
	pidsMu      sync.RWMutex
	pids        map[string]*actor.PID
	gateIs      atomic.Int32 // scheduler.GateState
}

func newInstance(cfg Config) *instance {
	inst := &instance{
		Config:    cfg,
		outbox:    newOutbox(),
		quotas:    newQuotas(cfg.Agents),
		began:     time.Now(),
		pids:      map[string]*actor.PID{},
		processes: map[scheduler.HostName]*liveProcesses{},
	}
	for _, host := range cfg.Hosts {
		inst.processes[host.Name] = newLiveProcesses()
	}
	return inst
}

// dormant reports whether there can be no job of a type just now.
func (inst *instance) dormant(t scheduler.TypeName) bool {
	return t == inst.RowType && !inst.attached.Load()
}

func (inst *instance) id() scheduler.InstanceID { return scheduler.InstanceID(inst.me.Load()) }

// setLease records until when this instance may believe in its claims.
func (inst *instance) setLease(until time.Time) { inst.lease.Store(int64(until.Sub(inst.began))) }

// leaseLeft is how long the lease lasts from now; negative: it is over.
func (inst *instance) leaseLeft(now time.Time) time.Duration {
	return time.Duration(inst.lease.Load()) - now.Sub(inst.began)
}

// mayBegin reports whether work on a line may start: its claim is one of this
// instance as it is registered now, and the lease on that lasts. What was
// claimed before an instance was taken for dead, others may have begun.
func (inst *instance) mayBegin(l *scheduler.Line, now time.Time) bool {
	return l.Instance == inst.id() && inst.leaseLeft(now) > 0
}

// margin is how long before others may bury it an instance kills its own
// agents: time enough to be dead by then.
func (inst *instance) margin() time.Duration { return inst.Lag / 5 }

// jitter is the jitter that scheduler's functions ask for.
func jitter() float64 { return rand.Float64() }

// register registers where an actor is reached, under its role: "ledger",
// "host/local", "msq/42". The next incarnation puts itself in its place.
func (inst *instance) register(role string, pid *actor.PID) {
	inst.pidsMu.Lock()
	inst.pids[role] = pid
	inst.pidsMu.Unlock()
}

// forget forgets a role, if it still is that actor's.
func (inst *instance) forget(role string, pid *actor.PID) {
	inst.pidsMu.Lock()
	if inst.pids[role] == pid {
		delete(inst.pids, role)
	}
	inst.pidsMu.Unlock()
}

// tell sends a message to a role. To a role that nobody fills just now it is
// lost: everyone who starts asks for what he needs to know.
func (inst *instance) tell(role string, message any) {
	inst.pidsMu.RLock()
	pid := inst.pids[role]
	inst.pidsMu.RUnlock()
	if pid != nil {
		inst.system.Root.Send(pid, message)
	}
}

// ring tells of a reason to look at the queue: the dispatcher looks for what may
// start, and maintenance says of the rest why it waits.
func (inst *instance) ring(m *rang) {
	inst.tell(roleDispatcher, m)
	inst.tell(roleMaintenance, m)
}

// owe puts records in the outbox and wakes the ledger.
func (inst *instance) owe(records ...scheduler.Record) {
	if inst.outbox.records(records) {
		inst.tell(roleLedger, flush)
	}
}

// note logs a remark against a job and keeps it with the job.
func (inst *instance) note(c scheduler.Claim, attempt int, host scheduler.HostName, text string) {
	inst.entries(
		[]scheduler.Entry{{Claim: c, Attempt: attempt, Host: host, Level: scheduler.LevelNote, At: time.Now(), Text: text}})
}

// entries takes what agents say on its way to bellhop.log. It never blocks.
func (inst *instance) entries(list []scheduler.Entry) {
	if inst.outbox.entries(list) {
		inst.tell(roleLedger, flush)
	}
}

// quotas counts the children of each type over all hosts of this instance, and
// knows this instance's part of the type's max.
type quotas map[scheduler.TypeName]*typeQuota // the types never change: read without a lock

type typeQuota struct {
	max         int // 0: no limit
	part, alive atomic.Int64
}

func newQuotas(agents []AgentType) quotas {
	c := quotas{}
	for _, a := range agents {
		c[a.Name] = &typeQuota{max: a.Max}
		c[a.Name].part.Store(int64(a.Max))
	}
	return c
}

// room is how many more children of the type this instance may have.
func (t *typeQuota) room() int {
	if t.max == 0 {
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
		if t.max > 0 && alive >= t.part.Load() {
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
	for t, of := range c {
		if of.max == 0 {
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
		part := int64(scheduler.Share(of.max, rank, n))
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

// pid is who fills a role just now, nil for nobody.
func (inst *instance) pid(role string) *actor.PID {
	inst.pidsMu.RLock()
	defer inst.pidsMu.RUnlock()
	return inst.pids[role]
}
