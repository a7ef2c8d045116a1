package actors

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"bellhop/actors/tree"
	"bellhop/scheduler"
)

// stage is one actor in virtual time, and its peers, who write down what they are told.
type stage struct {
	*testing.T
	*instance
	mu      sync.Mutex
	told    map[string][]any
	answers map[string]func(c actor.Context) // of a peer that answers
	pids    []*actor.PID
}

// play runs an actor in virtual time, in an instance that is registered as 1.
func play(t *testing.T, cfg Config, with func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if cfg.Log == nil {
			cfg.Log = slog.New(slog.DiscardHandler)
		}
		s := &stage{T: t, instance: newInstance(cfg), told: map[string][]any{}, answers: map[string]func(actor.Context){}}
		s.System = actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(time.Millisecond),
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
		s.Become(1)
		s.SetLease(time.Now().Add(time.Hour))
		defer s.end()
		with(s)
	})
}

// end stops all, the last one first.
func (s *stage) end() {
	for _, pid := range slices.Backward(s.pids) {
		_ = s.System.Root.StopFuture(pid).Wait()
	}
	s.System.Shutdown()
	time.Sleep(24*time.Hour + time.Microsecond) // virtual: every timer has rung, also those of actors that have ended
}

// start brings up an actor in a role.
func (s *stage) start(role string, a actor.Actor) *actor.PID {
	pid := s.System.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return a }, actor.WithSupervisor(tree.Stop)))
	s.Register(role, pid)
	s.pids = append(s.pids, pid)
	return pid
}

// listen fills roles with actors that write down what they are told.
func (s *stage) listen(roles ...string) {
	for _, role := range roles {
		s.start(role, actor.ReceiveFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case *actor.Started, *actor.Stopping, *actor.Stopped:
				return
			}
			s.mu.Lock()
			s.told[role] = append(s.told[role], c.Message())
			answer := s.answers[role]
			s.mu.Unlock()
			if answer != nil {
				answer(c)
			}
		}))
	}
}

// after lets time pass, and gives what a peer was told of one kind since it was asked last.
func after[M any](s *stage, wait time.Duration, role string) (list []M) {
	s.Helper()
	changed()
	time.Sleep(wait) // virtual
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var others []any
	for _, m := range s.told[role] {
		if one, is := m.(M); is {
			list = append(list, one)
		} else {
			others = append(others, m)
		}
	}
	s.told[role] = others
	return list
}

// order tells the race detector what it cannot know: what a test changes before it
// lets time pass comes before what a port does then.
var order sync.Mutex

func changed() {
	order.Lock()
	defer order.Unlock()
}

// calls writes down when a port was called.
type calls struct {
	mu    sync.Mutex
	names []string
	times []time.Time
}

func (c *calls) add(name string) {
	changed()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.times = append(c.names, name), append(c.times, time.Now())
}

// take gives the names of what was called since it was asked last, and how long after start.
func (c *calls) take(start time.Time) (names []string, at []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.times {
		at = append(at, t.Sub(start))
	}
	names, c.names, c.times = c.names, nil, nil
	return names, at
}

func claimOf(job scheduler.JobID) scheduler.Claim { return scheduler.Claim{Job: job, Fence: 1} }

func settleOf(jobs ...scheduler.JobID) (list []scheduler.Record) {
	for _, job := range jobs {
		list = append(list, scheduler.Record{Kind: scheduler.RecordSettle, Claim: claimOf(job),
			Verdict: scheduler.Verdict{State: scheduler.Succeeded}})
	}
	return list
}
