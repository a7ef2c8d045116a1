package actors

import (
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// reserves are when looks were made, since the start.
func (u *upkeep) reserves(start time.Time) (list []time.Duration) {
	names, at := u.take(start)
	for i, name := range names {
		if name == "reserve" {
			list = append(list, at[i])
		}
	}
	return list
}

// Of all the times that passes and looks tell there is one timer, for the earliest. A pass follows a look that finds
// a job, and no look follows one after which no job ages.
func TestMaintenance_LooksWhenTheNextJobAges(t *testing.T) {
	t.Parallel()
	u := &upkeep{next: -1, aged: 1, ages: 4 * time.Second}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, 0, roleDispatcher)
		for _, at := range []time.Duration{30, 20, 25} {
			s.tell(roleMaintenance, &ages{start.Add(at * time.Second)})
		}
		if woken := after[*intake.LocksWoken](s, 19*time.Second, roleDispatcher); len(woken) > 0 {
			t.Errorf("%d passes before any job has aged", len(woken))
		}
		if woken := after[*intake.LocksWoken](s, 2*time.Second, roleDispatcher); len(woken) != 1 {
			t.Errorf("%d passes when one has", len(woken))
		}
		u.aged, u.ages = 0, 0
		if woken := after[*intake.LocksWoken](s, time.Hour, roleDispatcher); len(woken) > 0 {
			t.Errorf("%d passes after a look in vain", len(woken))
		}
		if at := u.reserves(start); !slices.Equal(at, []time.Duration{20 * time.Second, 24 * time.Second}) {
			t.Errorf("looks at %v", at)
		}
	})
}

// A round tells it too, and drops the timer if no job is to be reserved for any more.
func TestMaintenance_ARoundTellsWhenTheNextJobAges(t *testing.T) {
	t.Parallel()
	u := &upkeep{next: -1}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, time.Second, roleDispatcher)
		u.control = scheduler.ControlState{Locks: true, Reserves: start.Add(9 * time.Second)}
		s.tell(roleMaintenance, &rang{scan: true})
		after[*intake.Promoted](s, time.Second, roleDispatcher)
		u.control.Reserves = time.Time{} // it has started
		s.tell(roleMaintenance, &rang{scan: true})
		after[*intake.Promoted](s, time.Minute, roleDispatcher)
		if at := u.reserves(start); len(at) > 0 {
			t.Errorf("looks at %v, and no job ages", at)
		}
		u.control.Reserves = start.Add(70 * time.Second)
		s.tell(roleMaintenance, &rang{scan: true})
		after[*intake.Promoted](s, time.Minute, roleDispatcher)
		if at := u.reserves(start); !slices.Equal(at, []time.Duration{70 * time.Second}) {
			t.Errorf("looks at %v", at)
		}
	})
}

// However often a look is wanted at once, looks take a twentieth of the time.
func TestMaintenance_LooksAreApart(t *testing.T) {
	t.Parallel()
	u := &upkeep{next: -1, look: time.Second}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, time.Second, roleDispatcher)
		for range 500 {
			s.tell(roleMaintenance, &ages{time.Now()})
			after[*intake.Promoted](s, 100*time.Millisecond, roleDispatcher)
		}
		want := []time.Duration{time.Second, 22 * time.Second, 43 * time.Second}
		if at := u.reserves(start); !slices.Equal(at, want) {
			t.Errorf("looks at %v, want %v", at, want)
		}
	})
}

// Maintenance is told when a job that a pass has looked at ages, and nothing after a pass without such a job.
func TestDispatcher_TellsWhenAJobAges(t *testing.T) {
	t.Parallel()
	q := &claims{}
	playDispatcher(t, q, func(s *stage, start time.Time) {
		told := func(wake any) []*ages {
			s.tell(roleDispatcher, wake)
			return after[*ages](s, time.Second, roleMaintenance)
		}
		if list := told(&intake.LocksWoken{}); len(list) > 0 {
			t.Errorf("told %v by a pass that looked at no such job", list[0].at)
		}
		q.ages = start.Add(time.Minute)
		if list := told(&rang{inserted: true}); len(list) > 0 {
			t.Errorf("told %v by a claim of jobs without locks", list[0].at)
		}
		if list := told(&intake.LocksWoken{}); len(list) != 1 || !list[0].at.Equal(q.ages) {
			t.Errorf("told %v", list)
		}
	})
}
