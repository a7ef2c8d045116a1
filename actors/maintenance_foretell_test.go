package actors

import (
	"context"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/actors/upkeep"
	"bellhop/scheduler"
)

// seer takes its time.
type seer struct {
	calls
	took time.Duration
}

func (s *seer) Foretell(_ context.Context, whole bool) error {
	if !whole {
		s.add("settle")
		return nil
	}
	s.add("foretell")
	time.Sleep(s.took) // virtual
	return nil
}

// Forecasts are looked after while there are jobs with locks, with the safety scan, and less
// often where that takes long: a hundredth of the time at the most.
func TestMaintenance_ForetellsOnlyWhereLocksAreInUse(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		locks      bool
		took       time.Duration
		least, max int
	}{
		"no locks": {false, 0, 0, 0},
		"quick":    {true, time.Millisecond, 15, 20},
		"slow":     {true, time.Second, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &chores{next: -1, control: scheduler.ControlState{Locks: x.locks}}
			f := &seer{took: x.took}
			play(t, Config{Maintenance: u, Forecasts: f, Scan: 5 * time.Second}, func(s *stage) {
				s.listen(message.RoleDispatcher)
				s.start(message.RoleMaintenance, upkeep.NewMaintenance(s.forMaintenance()))
				for range 100 {
					s.Tell(message.RoleMaintenance, &message.DueNow{})
					time.Sleep(time.Second) // virtual
				}
			})
			called, _ := f.take(time.Now())
			if n := len(called); n < x.least || n > x.max {
				t.Errorf("%d times in 100 s", n)
			}
		})
	}
}
