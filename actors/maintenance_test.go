package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/upkeep"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// chores is a queue that maintenance looks after.
type chores struct {
	calls
	ready   int           // jobs that a round finds due
	next    time.Duration // until the next one is
	took    time.Duration // what a round takes
	control scheduler.ControlState
	down    error
	keys    []scheduler.RunOn
	located error // why names cannot be found
	asked   [][]string
	found   scheduler.Explained
	lookers []scheduler.Looker // that were told
	aged    int                // jobs that a look finds aged
	ages    time.Duration      // until the next one after that has aged; 0: none does
	look    time.Duration      // what a look takes
}

func (u *chores) Reserve(context.Context) (n int, next time.Time, err error) {
	u.add("reserve")
	time.Sleep(u.look) // virtual
	if u.ages > 0 {
		next = time.Now().Add(u.ages)
	}
	return u.aged, next, u.down
}

func (u *chores) Due(context.Context) (int, time.Duration, error) {
	u.add("due")
	time.Sleep(u.took) // virtual
	return u.ready, u.next, u.down
}

func (u *chores) RunCommands(context.Context, scheduler.InstanceID) (scheduler.ControlState, error) {
	changed()
	return u.control, nil
}

func (u *chores) Keys(context.Context, scheduler.RunOn, int) ([]scheduler.RunOn, error) {
	changed()
	return u.keys, nil
}

func (u *chores) Locates() bool { return true }

func (u *chores) Locate(_ context.Context, _ scheduler.InstanceID, names []string) (
	map[string][]scheduler.HostName, error) {
	changed()
	u.asked = append(u.asked, names)
	return map[string][]scheduler.HostName{}, u.located
}

func (u *chores) Backlog(context.Context, []scheduler.TypeName, []scheduler.TypeName, []string) (
	[]scheduler.Backlog, []scheduler.TypeName, error) {
	changed()
	return []scheduler.Backlog{{Type: "a", Jobs: 3}}, nil, u.down
}

func (u *chores) ExplainWaiting(_ context.Context, looker scheduler.Looker) (scheduler.Explained, error) {
	if looker.Instance == 0 {
		u.add("explain")
	} else {
		u.add("explain all")
	}
	u.lookers = append(u.lookers, looker)
	return u.found, nil
}

func playMaintenance(t *testing.T, u *chores, with func(s *stage, start time.Time)) {
	t.Helper()
	play(t, Config{Maintenance: u, Scan: 5 * time.Second}, func(s *stage) {
		s.listen(message.RoleDispatcher)
		start := time.Now()
		s.start(message.RoleMaintenance, upkeep.NewMaintenance(s.forMaintenance()))
		with(s, start)
	})
}

// For the next due job there is one timer, whoever else asked for a round before;
// it is set anew by each round, and none is set when nothing waits for the clock.
func TestMaintenance_ArmsOneTimerForTheNextDueJob(t *testing.T) {
	t.Parallel()
	u := &chores{next: 10 * time.Second}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, time.Second, message.RoleDispatcher)
		u.next = 3 * time.Second
		s.Tell(message.RoleMaintenance, &message.DueNow{}) // a row has come that is due sooner
		after[*intake.Promoted](s, 2*time.Second, message.RoleDispatcher)
		u.next, u.ready = -1, 1
		if got := after[*intake.Promoted](s, 10*time.Second, message.RoleDispatcher); len(got) != 1 || !got[0].Some {
			t.Errorf("the dispatcher is told %+v", got)
		}
		names, at := u.take(start)
		if want := []time.Duration{0, time.Second, 4*time.Second + time.Millisecond}; !slices.Equal(at, want) {
			t.Errorf("rounds %q at %v, want %v", names, at, want)
		}
	})
}

// However often a round is asked for while one is under way, one more is made.
func TestMaintenance_OneRoundAtATime(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1, took: time.Second}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		for range 5 {
			s.Tell(message.RoleMaintenance, &message.DueNow{})
		}
		after[*intake.Promoted](s, time.Minute, message.RoleDispatcher)
		if _, at := u.take(start); !slices.Equal(at, []time.Duration{0, time.Second}) {
			t.Errorf("rounds at %v", at)
		}
	})
}

// A round that fails is left to the safety scan; what it made ready before it
// failed is told.
func TestMaintenance_AFailedRoundWaitsForTheScan(t *testing.T) {
	t.Parallel()
	u := &chores{next: time.Second, ready: 2, down: errors.New("connection lost")}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		if got := after[*intake.Promoted](s, time.Minute, message.RoleDispatcher); len(got) != 1 || !got[0].Some {
			t.Errorf("promoted: %+v", got)
		}
		if got := after[*intake.Controlled](s, 0, message.RoleDispatcher); len(got) > 0 {
			t.Errorf("what operators want is told, and is not known: %+v", got)
		}
		s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
		after[*intake.Promoted](s, 0, message.RoleDispatcher)
		if names, at := u.take(start); !slices.Equal(names, []string{"due", "due", "explain all"}) &&
			!slices.Equal(names, []string{"due", "explain all", "due"}) || at[1] != time.Minute {
			t.Errorf("%q at %v", names, at)
		}
	})
}

// After a ring jobs are told why they wait: a second later, and once for all
// rings until then.
func TestMaintenance_ExplainsOnceForManyRings(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		for range 100 {
			s.Tell(message.RoleMaintenance, &message.Rang{Inserted: true})
			after[*intake.Promoted](s, 5*time.Millisecond, message.RoleDispatcher)
		}
		after[*intake.Promoted](s, time.Minute, message.RoleDispatcher)
		if names, at := u.take(start); !slices.Equal(names, []string{"due", "explain"}) || at[1] != time.Second {
			t.Errorf("%q at %v", names, at)
		}
	})
}

// What operators want is told with each round; a wish to stop is told once.
func TestMaintenance_TellsWhatOperatorsWant(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1, control: scheduler.ControlState{Paused: []scheduler.TypeName{"a"}, Stop: scheduler.StopNow}}
	var stops []scheduler.Stop
	play(t, Config{Maintenance: u, Stop: func(how scheduler.Stop) { stops = append(stops, how) }}, func(s *stage) {
		s.listen(message.RoleDispatcher)
		s.start(message.RoleMaintenance, upkeep.NewMaintenance(s.forMaintenance()))
		after[*intake.Promoted](s, 0, message.RoleDispatcher)
		s.Tell(message.RoleMaintenance, &message.DueNow{})
		got := after[*intake.Controlled](s, 0, message.RoleDispatcher)
		if len(got) != 2 || !slices.Equal(got[1].State.Paused, []scheduler.TypeName{"a"}) {
			t.Errorf("the dispatcher is told %+v", got)
		}
		if !slices.Equal(stops, []scheduler.Stop{scheduler.StopNow}) {
			t.Errorf("told to stop: %v", stops)
		}
	})
}

// Names that items want to know of are asked for at once; when that fails, not
// again before somebody asks, or the scan comes.
func TestMaintenance_AsksForNames(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1, located: errors.New("connection lost")}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Located](s, 0, message.RoleDispatcher)
		s.Tell(message.RoleMaintenance, &intake.Question{Asked: []string{"disk:4"}})
		if got := after[*intake.Looked](s, time.Minute, message.RoleDispatcher); len(got) != 1 {
			t.Errorf("told %d times that the look was in vain", len(got))
		}
		u.located = nil
		s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
		got := after[*intake.Located](s, 0, message.RoleDispatcher)
		if len(got) != 1 || !slices.Equal(got[0].Asked, []string{"disk:4"}) {
			t.Errorf("located: %+v", got)
		}
		if len(u.asked) != 2 {
			t.Errorf("asked for %q", u.asked)
		}
	})
}

// An instance that is not registered makes no round; one begins as soon as it is.
func TestMaintenance_BeginsWhenRegistered(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1}
	play(t, Config{Maintenance: u}, func(s *stage) {
		s.Become(0)
		s.listen(message.RoleDispatcher)
		start := time.Now()
		s.start(message.RoleMaintenance, upkeep.NewMaintenance(s.forMaintenance()))
		s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
		after[*intake.Promoted](s, time.Second, message.RoleDispatcher)
		s.Become(7)
		s.Tell(message.RoleMaintenance, &message.Joined{})
		after[*intake.Promoted](s, 0, message.RoleDispatcher)
		if names, at := u.take(start); !slices.Equal(names, []string{"due"}) || at[0] != time.Second {
			t.Errorf("%q at %v", names, at)
		}
	})
}

// What waits for full hosts is read for the dispatcher. The answer comes even
// when the read fails: intake waits for one before it asks for another.
func TestMaintenance_ReadsBacklogs(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1}
	playMaintenance(t, u, func(s *stage, _ time.Time) {
		read := &intake.Read{Types: []scheduler.TypeName{"a"}, Hosts: map[scheduler.HostName][]string{"h": nil}}
		s.Tell(message.RoleMaintenance, read)
		got := after[*intake.BacklogRead](s, 0, message.RoleDispatcher)
		if len(got) != 1 || got[0].Failed || len(got[0].Of["h"]) != 1 {
			t.Fatalf("read: %+v", got)
		}
		u.down = errors.New("connection lost")
		s.Tell(message.RoleMaintenance, read)
		if got := after[*intake.BacklogRead](s, 0, message.RoleDispatcher); len(got) != 1 || !got[0].Failed {
			t.Errorf("read: %+v", got)
		}
	})
}
