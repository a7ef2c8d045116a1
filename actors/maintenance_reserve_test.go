package actors

import (
	"slices"
	"testing"
	"time"

	"bellhop/actors/message"
	"bellhop/scheduler"
	"bellhop/scheduler/intake"
)

// reserves are when looks were made, since the start.
func (u *chores) reserves(start time.Time) (list []time.Duration) {
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
	u := &chores{next: -1, aged: 1, ages: 4 * time.Second}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, 0, message.RoleDispatcher)
		for _, at := range []time.Duration{30, 20, 25} {
			s.Tell(message.RoleMaintenance, &message.Ages{At: start.Add(at * time.Second)})
		}
		if woken := after[*intake.LocksWoken](s, 19*time.Second, message.RoleDispatcher); len(woken) > 0 {
			t.Errorf("%d passes before any job has aged", len(woken))
		}
		if woken := after[*intake.LocksWoken](s, 2*time.Second, message.RoleDispatcher); len(woken) != 1 {
			t.Errorf("%d passes when one has", len(woken))
		}
		u.aged, u.ages = 0, 0
		if woken := after[*intake.LocksWoken](s, time.Hour, message.RoleDispatcher); len(woken) > 0 {
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
	u := &chores{next: -1}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, time.Second, message.RoleDispatcher)
		u.control = scheduler.ControlState{Locks: true, Reserves: start.Add(9 * time.Second)}
		s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
		after[*intake.Promoted](s, time.Second, message.RoleDispatcher)
		u.control.Reserves = time.Time{} // it has started
		s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
		after[*intake.Promoted](s, time.Minute, message.RoleDispatcher)
		if at := u.reserves(start); len(at) > 0 {
			t.Errorf("looks at %v, and no job ages", at)
		}
		u.control.Reserves = start.Add(70 * time.Second)
		s.Tell(message.RoleMaintenance, &message.Rang{Scan: true})
		after[*intake.Promoted](s, time.Minute, message.RoleDispatcher)
		if at := u.reserves(start); !slices.Equal(at, []time.Duration{70 * time.Second}) {
			t.Errorf("looks at %v", at)
		}
	})
}

// However often a look is wanted at once, looks take a twentieth of the time.
func TestMaintenance_LooksAreApart(t *testing.T) {
	t.Parallel()
	u := &chores{next: -1, look: time.Second}
	playMaintenance(t, u, func(s *stage, start time.Time) {
		after[*intake.Promoted](s, time.Second, message.RoleDispatcher)
		for range 500 {
			s.Tell(message.RoleMaintenance, &message.Ages{At: time.Now()})
			after[*intake.Promoted](s, 100*time.Millisecond, message.RoleDispatcher)
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
		told := func(wake any) []*message.Ages {
			s.Tell(message.RoleDispatcher, wake)
			return after[*message.Ages](s, time.Second, message.RoleMaintenance)
		}
		if list := told(&intake.LocksWoken{}); len(list) > 0 {
			t.Errorf("told %v by a pass that looked at no such job", list[0].At)
		}
		q.ages = start.Add(time.Minute)
		if list := told(&message.Rang{Inserted: true}); len(list) > 0 {
			t.Errorf("told %v by a claim of jobs without locks", list[0].At)
		}
		if list := told(&intake.LocksWoken{}); len(list) != 1 || !list[0].At.Equal(q.ages) {
			t.Errorf("told %v", list)
		}
	})
}
