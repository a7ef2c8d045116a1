package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"bellhop/actors/member"
	"bellhop/actors/message"
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
		s.Become(0)
		s.SetLease(time.Now())
		s.listen(message.RoleDispatcher, message.RoleHosts, message.RoleMSQs, message.RoleMaintenance)
		start := time.Now()
		s.start(message.RoleMembership, member.New(s.forMembership()))
		with(s, start)
	})
}

// Without a heartbeat that gets through, an instance stops what runs before the
// others may take it for dead, and not earlier; it goes on as soon as one does.
func TestMembership_FencesWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	r := &registry{}
	playMembership(t, r, func(s *stage, _ time.Time) {
		if got := after[*message.Joined](s, 0, message.RoleDispatcher); len(got) != 1 {
			t.Fatalf("joined %d times", len(got))
		}
		after[*message.Joined](s, 5*time.Second, message.RoleDispatcher) // the last beat that gets through is now
		r.down = errors.New("connection lost")
		if got := after[*message.Fenced](s, 8*time.Second-time.Millisecond, message.RoleDispatcher); len(got) > 0 {
			t.Fatal("fenced while the lease lasts")
		}
		if got := after[*message.Fenced](s, time.Millisecond, message.RoleDispatcher); len(got) != 1 {
			t.Fatalf("the dispatcher is fenced %d times", len(got))
		}
		if got := after[*message.Fenced](s, 0, message.RoleHosts); len(got) != 1 {
			t.Errorf("hosts are fenced %d times", len(got))
		}
		if got := after[*message.DrainMSQs](s, 0, message.RoleMSQs); len(got) != 1 {
			t.Errorf("MSQ jobs are given back %d times", len(got))
		}
		r.down = nil
		if got := after[*message.Joined](s, time.Second, message.RoleDispatcher); len(got) != 1 ||
			s.LeaseLeft(time.Now()) <= 0 {
			t.Errorf("joined again %d times; the lease lasts %v", len(got), s.LeaseLeft(time.Now()))
		}
	})
}

// An instance that was taken for dead stops what runs and starts anew under
// another id.
func TestMembership_TakenForDeadItStartsAnew(t *testing.T) {
	t.Parallel()
	r := &registry{}
	playMembership(t, r, func(s *stage, _ time.Time) {
		after[*message.Joined](s, 0, message.RoleDispatcher)
		r.down = scheduler.ErrGone
		if got := after[*message.Fenced](s, time.Second, message.RoleDispatcher); len(got) != 1 || s.ID() != 0 {
			t.Fatalf("fenced %d times, as instance %d", len(got), s.ID())
		}
		r.down = nil
		if got := after[*message.Joined](s, time.Second, message.RoleDispatcher); len(got) != 1 || s.ID() != 2 {
			t.Errorf("joined %d times, as instance %d", len(got), s.ID())
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
		after[*message.Rang](s, 1500*time.Millisecond, message.RoleDispatcher)
		if names, _ := r.take(start); !slices.Equal(names, []string{"register", "reap dead", "reap dead"}) {
			t.Fatalf("while it cannot be ended: %q", names)
		}
		r.alive = nil
		if got := after[*message.Rang](s, time.Second, message.RoleDispatcher); len(got) != 1 {
			t.Errorf("the dispatcher is told %d times of jobs to take", len(got))
		}
		if names, _ := r.take(start); !slices.Equal(names, []string{"reap dead", "proven"}) {
			t.Fatalf("then: %q", names)
		}
		r.suspects = []scheduler.Suspect{{ID: 9, Name: "silent", Silent: true}}
		after[*message.Rang](s, time.Second, message.RoleDispatcher)
		if names, _ := r.take(start); !slices.Equal(names, []string{"silent"}) {
			t.Errorf("of one that is silent: %q", names)
		}
	})
}
