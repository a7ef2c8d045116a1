package actors

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/message"
	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// System is the running tree.
type System struct {
	inst   *instance
	mu     sync.Mutex
	root   *actor.PID
	once   sync.Once
	ready  chan struct{} // closed when all actors have come up for the first time
	ended  chan struct{} // closed when the supervisor has ended
	closed bool
}

// Start brings up the tree.
func Start(cfg Config) *System {
	inst := newInstance(cfg)
	inst.System = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		// Its own remarks (dead letters of actors that have ended) are noise.
		return slog.New(slog.DiscardHandler)
	}), actor.WithDeadLetterThrottleInterval(time.Millisecond)) // a goroutine waits out each interval, after the end too
	fewBuckets(inst.System.ProcessRegistry.LocalPIDs)
	s := &System{inst: inst, ready: make(chan struct{})}
	s.up()
	<-s.ready // what is told to an actor before it is there is lost, an order to stop too
	return s
}

// registryBuckets is in how many parts the names of actors are kept, of 32 maps each: protoactor's 1024 are 3 MB.
const registryBuckets = 16

// fewBuckets makes a registry smaller, before its first use.
func fewBuckets(names *actor.SliceMap) {
	there := map[string]any{} // what the system has made for itself
	for _, bucket := range names.LocalPIDs {
		bucket.IterCb(func(id string, process any) { there[id] = process })
	}
	for id := range there {
		names.GetBucket(id).Remove(id)
	}
	names.LocalPIDs = slices.Clone(names.LocalPIDs[:registryBuckets])
	for id, process := range there {
		names.GetBucket(id).Set(id, process)
	}
}

// up starts the supervisor, and another whenever it ends without having been
// asked to: it has no parent that would.
func (s *System) up() {
	s.ended = make(chan struct{})
	ended := s.ended
	s.root = s.inst.System.Root.Spawn(tree.Props(s.inst.Log, message.RoleSupervisor, func() actor.Actor {
		return &rootActor{
			supervisor: newSupervisor(s.inst),
			started:    func() { s.once.Do(func() { close(s.ready) }) },
			stopped:    func() { s.onEnd(ended) },
		}
	}, actor.WithGuardian(tree.Stop)))
	s.inst.Register(message.RoleSupervisor, s.root)
}

// rootActor tells the system when the supervisor has started and stopped.
type rootActor struct {
	*supervisor
	started, stopped func()
}

func (t *rootActor) Receive(c actor.Context) {
	if _, ok := c.Message().(*actor.Stopped); ok {
		t.stopped()
		return
	}
	t.supervisor.Receive(c)
	if _, ok := c.Message().(*actor.Started); ok {
		t.started()
	}
}

func (s *System) onEnd(ended chan struct{}) {
	close(ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		time.AfterFunc(50*time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.closed {
				s.up()
			}
		})
	}
}

// Say takes what agents say on its way to bellhop.log. It never blocks.
func (s *System) Say(list []scheduler.Entry) { s.inst.outbox.Entries(list) }

// Progress takes how far an agent says it has come with a single job. It never blocks.
func (s *System) Progress(p scheduler.Progress) {
	s.inst.outbox.Progress(p)
}

// HowFar takes what the agent of a single job says of how far it is. It never blocks.
func (s *System) HowFar(h scheduler.HowFar) { s.inst.outbox.HowFar(h) }

// Ask takes what a running job asks of locks. It never blocks, and neither may answer.
func (s *System) Ask(ask scheduler.LockAsk, answer func(scheduler.LockAnswer)) {
	if s.inst.Locks == nil {
		answer(scheduler.LockAnswer{Refused: "locks are not available here: there is no database; run bellhop serve with one"})
		return
	}
	s.inst.lockAsks.Add(ask, answer)
	s.inst.Tell(message.RoleLocks, &message.TryLocks{})
}

// SaveStep keeps what a run has done, and returns when that is committed. An error fails the run.
func (s *System) SaveStep(ctx context.Context, of scheduler.Claim, step scheduler.SavedStep) error {
	if s.inst.Steps == nil {
		return &scheduler.StepRefused{Why: "steps are not kept here: there is no database; run bellhop serve with one"}
	}
	return s.inst.Steps.Save(ctx, of, step)
}

// Trouble takes why a type cannot be used on a host, or that it can again. It never blocks.
func (s *System) Trouble(typ scheduler.TypeName, host scheduler.HostName, why scheduler.Account) {
	s.inst.Tell(message.RoleMembership, &message.Trouble{Type: typ, Host: host, Why: why})
}

// ID is the instance's id, 0 before it is registered.
func (s *System) ID() scheduler.InstanceID { return s.inst.ID() }

// Healthy says in words what keeps this instance from working; empty: nothing does.
func (s *System) Healthy() string {
	mend, err := s.inst.Fails()
	left, why := s.inst.LeaseLeft(time.Now()), ""
	if err != nil {
		why = ": " + err.Error()
		if mend != "" {
			why += "; " + mend
		}
	}
	switch {
	case s.inst.ID() == 0:
		return "not registered with the database yet" + why
	case left <= 0:
		return "lease lost: the database has not heard from this instance" + why
	case mend != "": // what passes by itself, such as a restart of the server, is waited for
		return "no heartbeat; what runs is stopped in " + left.Round(time.Second).String() + why
	}
	if s.inst.hearing.Deaf() {
		return "bell not heard for " + s.BellAge().Round(time.Second).String() + ": new work waits for the safety scan"
	}
	return ""
}

// BellAge is how long ago this instance last heard its own ring.
func (s *System) BellAge() time.Duration {
	return s.inst.hearing.Age(s.inst.Began)
}

// Gate says how this instance learns of new work.
func (s *System) Gate() scheduler.GateState { return scheduler.GateState(s.inst.gateIs.Load()) }

// Panic makes the actor in a role panic, for the test that kills them all in turn.
func (s *System) Panic(role string) error {
	pid := s.inst.PID(role)
	if pid == nil {
		return fmt.Errorf("no actor has the role %q at present", role)
	}
	s.inst.Send(pid, &message.PanicNow{})
	return nil
}

// Roles lists the present actors: "ledger", "msq/42", "host/local", "child/local/license.1", …
func (s *System) Roles() []string {
	return s.inst.Peers.Roles()
}

// Processes is how many processes of children are alive.
func (s *System) Processes() int { return int(s.inst.alive.Load()) }

// Launches is how many there ever were.
func (s *System) Launches() int64 { return s.inst.launches.Load() }

// Stop ends the tree in order: nothing new is claimed; running jobs get the time that ctx allows (finish: as long
// as they take) and are then killed and given back; pending outcomes are written. It names the actors that did not
// stop.
func (s *System) Stop(ctx context.Context, patience time.Duration) error {
	var late []string
	// 1. What runs may finish, for as long as ctx allows.
	done, handedIn := make(chan string, 1), make(chan string, 1)
	s.inst.Tell(message.RoleAttachments, &message.Finish{})
	s.inst.Tell(message.RoleSensors, &message.Finish{})
	s.inst.Tell(message.RoleCourier, &message.Finish{})
	s.inst.Tell(message.RoleWatches, &message.Finish{})
	s.inst.Tell(message.RoleDispatcher, &message.Finish{Done: done})
	s.inst.Tell(message.RoleHosts, &message.Finish{}) // what runs on engines is not waited for
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.inst.Tell(message.RoleMSQs, &message.DrainMSQs{Done: handedIn})
	// 2. The children: asked to go, then killed.
	gone := make(chan string, 1)
	s.inst.Tell(message.RoleHosts, &message.Leave{Done: gone})
	soft := time.NewTimer(min(time.Second, s.inst.setup().KillAfter))
	defer soft.Stop()
	select {
	case <-gone:
	case <-soft.C:
		s.inst.Tell(message.RoleHosts, &message.Leave{All: true})
		select {
		case <-gone:
		case <-time.After(patience):
			late = append(late, message.RoleHosts)
		}
	}
	// 3. What is owed.
	select {
	case <-handedIn:
	case <-time.After(patience):
		late = append(late, message.RoleMSQs)
	}
	select {
	case <-s.inst.outbox.WhenEmpty():
	case <-time.After(patience):
		late = append(late, message.RoleLedger)
	}
	// 4. The actors.
	s.mu.Lock()
	s.closed = true
	ended := s.ended
	s.mu.Unlock()
	s.inst.System.Root.Stop(s.root)
	select {
	case <-ended:
	case <-time.After(patience):
		late = append(late, "actors")
	}
	if len(late) > 0 {
		return fmt.Errorf("did not stop in time: %s", strings.Join(late, ", "))
	}
	return nil
}
