package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"bellhop/actors/port"
	"bellhop/scheduler"
)

// registry is where the instance lives, and the others.
type registry struct {
	calls
	down     error
	beat     scheduler.Beat
	last     scheduler.InstanceID // that was registered
	suspects []scheduler.Suspect
	dead     map[scheduler.InstanceID]bool
	alive    error // why what a dead one left running cannot be ended
}

func (r *registry) Register(context.Context) (scheduler.InstanceID, error) {
	r.add("register")
	if r.down == nil {
		r.last++
	}
	return r.last, r.down
}

func (r *registry) Beat(context.Context, scheduler.InstanceID) (scheduler.Beat, error) {
	changed()
	return r.beat, r.down
}

func (r *registry) Suspects(context.Context, scheduler.InstanceID) ([]scheduler.Suspect, error) {
	changed()
	return r.suspects, nil
}

func (r *registry) Dead(s scheduler.Suspect) bool {
	changed()
	return r.dead[s.ID]
}

func (r *registry) Reap(_ context.Context, s scheduler.Suspect) error {
	r.add("reap " + s.Name)
	return r.alive
}

func (r *registry) MarkGone(_ context.Context, id scheduler.InstanceID, _ string, proven bool) (bool, int, error) {
	name := "silent"
	if proven {
		name = "proven"
	}
	r.add(name)
	r.suspects = slices.DeleteFunc(slices.Clone(r.suspects), func(s scheduler.Suspect) bool { return s.ID == id })
	return true, 1, nil
}

// nobodyLaunches is a launcher that launches nothing.
type nobodyLaunches struct{ port.Launcher }

func (nobodyLaunches) Serves(scheduler.InstanceID) {}

func playMembership(t *testing.T, r *registry, with func(s *stage, start time.Time)) {
	t.Helper()
	cfg := Config{Registry: r, Reaper: r, Launcher: nobodyLaunches{}, Heartbeat: time.Second, Lag: 10 * time.Second}
	play(t, cfg, func(s *stage) {
		s.become(0)
		s.setLease(time.Now())
		s.listen(roleDispatcher, roleHosts, roleMSQs, roleMaintenance)
		start := time.Now()
		s.start(roleMembership, newMembership(s.forMembership()))
		with(s, start)
	})
}

// Without a heartbeat that gets through, an instance stops what runs before the
// others may take it for dead, and not earlier; it goes on as soon as one does.
func TestMembership_FencesWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	r := &registry{}
	playMembership(t, r, func(s *stage, _ time.Time) {
		if got := after[*joined](s, 0, roleDispatcher); len(got) != 1 {
			t.Fatalf("joined %d times", len(got))
		}
		after[*joined](s, 5*time.Second, roleDispatcher) // the last beat that gets through is now
		r.down = errors.New("connection lost")
		if got := after[*fenced](s, 8*time.Second-time.Millisecond, roleDispatcher); len(got) > 0 {
			t.Fatal("fenced while the lease lasts")
		}
		if got := after[*fenced](s, time.Millisecond, roleDispatcher); len(got) != 1 {
			t.Fatalf("the dispatcher is fenced %d times", len(got))
		}
		if got := after[*fenced](s, 0, roleHosts); len(got) != 1 {
			t.Errorf("hosts are fenced %d times", len(got))
		}
		if got := after[*drainMSQs](s, 0, roleMSQs); len(got) != 1 {
			t.Errorf("MSQ jobs are given back %d times", len(got))
		}
		r.down = nil
		if got := after[*joined](s, time.Second, roleDispatcher); len(got) != 1 || s.leaseLeft(time.Now()) <= 0 {
			t.Errorf("joined again %d times; the lease lasts %v", len(got), s.leaseLeft(time.Now()))
		}
	})
}

// An instance that was taken for dead stops what runs and starts anew under
// another id.
func TestMembership_TakenForDeadItStartsAnew(t *testing.T) {
	t.Parallel()
	r := &registry{}
	playMembership(t, r, func(s *stage, _ time.Time) {
		after[*joined](s, 0, roleDispatcher)
		r.down = scheduler.ErrGone
		if got := after[*fenced](s, time.Second, roleDispatcher); len(got) != 1 || s.id() != 0 {
			t.Fatalf("fenced %d times, as instance %d", len(got), s.id())
		}
		r.down = nil
		if got := after[*joined](s, time.Second, roleDispatcher); len(got) != 1 || s.id() != 2 {
			t.Errorf("joined %d times, as instance %d", len(got), s.id())
		}
	})
}

// What a dead instance of this machine left running is ended before its jobs go
// to others; of one that is silent elsewhere, its own guards see to that.
func TestMembership_ReapsBeforeItTakesOver(t *testing.T) {
	t.Parallel()
	r := &registry{dead: map[scheduler.InstanceID]bool{8: true}, alive: errors.New("still there"),
		suspects: []scheduler.Suspect{{ID: 7, Name: "lives"}, {ID: 8, Name: "dead"}}}
	playMembership(t, r, func(s *stage, start time.Time) {
		after[*rang](s, 1500*time.Millisecond, roleDispatcher)
		if names, _ := r.take(start); !slices.Equal(names, []string{"register", "reap dead", "reap dead"}) {
			t.Fatalf("while it cannot be ended: %q", names)
		}
		r.alive = nil
		if got := after[*rang](s, time.Second, roleDispatcher); len(got) != 1 {
			t.Errorf("the dispatcher is told %d times of jobs to take", len(got))
		}
		if names, _ := r.take(start); !slices.Equal(names, []string{"reap dead", "proven"}) {
			t.Fatalf("then: %q", names)
		}
		r.suspects = []scheduler.Suspect{{ID: 9, Name: "silent", Silent: true}}
		after[*rang](s, time.Second, roleDispatcher)
		if names, _ := r.take(start); !slices.Equal(names, []string{"silent"}) {
			t.Errorf("of one that is silent: %q", names)
		}
	})
}
