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

	Queue      Queue
	Holdings   Holdings
	Records    Records
	Registry   Registry
	Undertaker Undertaker
	Notices    Notices
	Crowds     Crowds
	Places     Places
	Bell       Bell
	Gate       Gate
	Queries    Queries
	Localities Localities // nil: run_on names hosts and what they serve
	Orders     Orders     // nil: nobody orders anything
	Launcher   Launcher
	Witness    Witness // nil: nobody looks on

	Attachments Attachments // nil: no tables are looked at
	// RowType is the type of jobs that are rows of attached tables with commands
	// of their own: nobody looks for any while nothing is attached. Empty: none.
	RowType scheduler.TypeName
}

// house is what outlives a single actor: what is owed to the database, who we
// are, and how to reach the others. Each part guards itself.
type house struct {
	Config
	system   *actor.ActorSystem
	outbox   *outbox
	census   census
	me       atomic.Int64 // scheduler.InstanceID; 0: not registered
	lease    atomic.Int64 // unix nanoseconds on the local clock's monotonic base, see leaseLeft
	began    time.Time    // base of lease: a monotonic clock reading
	heard    atomic.Int64 // when the bell last heard our own ring, like lease
	unheard  atomic.Int64 // how often we have rung since: with every heartbeat that gets through
	yards    map[scheduler.HostName]*yard
	attached atomic.Bool  // there are attached tables
	alive    atomic.Int64 // processes of this instance
	launches atomic.Int64 // and how many there ever were
	orphans  orphans
	pidsMu   sync.RWMutex
	pids     map[string]*actor.PID
	gateIs   atomic.Int32 // scheduler.GateState
}

func newHouse(cfg Config) *house {
	h := &house{Config: cfg, outbox: newOutbox(), census: newCensus(cfg.Agents), began: time.Now(), pids: map[string]*actor.PID{},
		yards: map[scheduler.HostName]*yard{}}
	for _, host := range cfg.Hosts {
		h.yards[host.Name] = newYard()
	}
	return h
}

// dormant reports whether there can be no job of a type just now.
func (h *house) dormant(t scheduler.TypeName) bool { return t == h.RowType && !h.attached.Load() }

func (h *house) id() scheduler.InstanceID { return scheduler.InstanceID(h.me.Load()) }

// setLease records until when this instance may believe in its claims.
func (h *house) setLease(until time.Time) { h.lease.Store(int64(until.Sub(h.began))) }

// leaseLeft is how long the lease lasts from now; negative: it is over.
func (h *house) leaseLeft(now time.Time) time.Duration {
	return time.Duration(h.lease.Load()) - now.Sub(h.began)
}

// mayBegin reports whether work on a line may start: its claim is one of this
// instance as it is registered now, and the lease on that lasts. What was
// claimed before an instance was taken for dead, others may have begun.
func (h *house) mayBegin(l *scheduler.Line, now time.Time) bool {
	return l.Instance == h.id() && h.leaseLeft(now) > 0
}

// margin is how long before others may bury it an instance kills its own
// agents: time enough to be dead by then.
func (h *house) margin() time.Duration { return h.Lag / 5 }

// luck is the jitter that scheduler's functions ask for.
func luck() float64 { return rand.Float64() }

// here registers where an actor is reached, under its role: "ledger",
// "host/local", "msq/42". The next incarnation puts itself in its place.
func (h *house) here(role string, pid *actor.PID) {
	h.pidsMu.Lock()
	h.pids[role] = pid
	h.pidsMu.Unlock()
}

// gone forgets a role, if it still is that actor's.
func (h *house) gone(role string, pid *actor.PID) {
	h.pidsMu.Lock()
	if h.pids[role] == pid {
		delete(h.pids, role)
	}
	h.pidsMu.Unlock()
}

// tell sends a message to a role. To a role that nobody fills just now it is
// lost: everyone who starts asks for what he needs to know.
func (h *house) tell(role string, message any) {
	h.pidsMu.RLock()
	pid := h.pids[role]
	h.pidsMu.RUnlock()
	if pid != nil {
		h.system.Root.Send(pid, message)
	}
}

// owe puts records in the outbox and wakes the ledger.
func (h *house) owe(records ...scheduler.Record) {
	if h.outbox.records(records) {
		h.tell(roleLedger, flush)
	}
}

// note logs a remark against a job and keeps it with the job.
func (h *house) note(c scheduler.Claim, attempt int, host scheduler.HostName, text string) {
	h.entries([]scheduler.Entry{{Claim: c, Attempt: attempt, Host: host, Level: scheduler.LevelNote, At: time.Now(), Text: text}})
}

// entries takes what agents say on its way to bellhop.log. It never blocks.
func (h *house) entries(list []scheduler.Entry) {
	if h.outbox.entries(list) {
		h.tell(roleLedger, flush)
	}
}

// census counts the children of each type over all hosts of this instance, and
// knows this instance's part of the type's max.
type census map[scheduler.TypeName]*tally // the types never change: read without a lock

type tally struct {
	max         int // 0: no limit
	part, alive atomic.Int64
}

func newCensus(agents []AgentType) census {
	c := census{}
	for _, a := range agents {
		c[a.Name] = &tally{max: a.Max}
		c[a.Name].part.Store(int64(a.Max))
	}
	return c
}

// room is how many more children of the type this instance may have.
func (t *tally) room() int {
	if t.max == 0 {
		return 1 << 20
	}
	return max(0, int(t.part.Load()-t.alive.Load()))
}

// berth is a place in the census that a host has taken for a child to come:
// counted at once, or several could be taken where there is one. It is the
// process's as soon as that is launched, and given back if it never is.
type berth struct{ settled atomic.Bool }

func (t *tally) reserve() *berth { // nil: another host was quicker
	for {
		alive := t.alive.Load()
		if t.max > 0 && alive >= t.part.Load() {
			return nil
		}
		if t.alive.CompareAndSwap(alive, alive+1) {
			return &berth{}
		}
	}
}

func (t *tally) giveBack(b *berth) {
	if b != nil && b.settled.CompareAndSwap(false, true) {
		t.alive.Add(-1)
	}
}

// divide gives this instance its part of each type's max, among the live
// instances that serve the type. It reports whether anything changed.
func (c census) divide(me scheduler.InstanceID, others []scheduler.Suspect) (changed bool) {
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
func (h *house) pid(role string) *actor.PID {
	h.pidsMu.RLock()
	defer h.pidsMu.RUnlock()
	return h.pids[role]
}
