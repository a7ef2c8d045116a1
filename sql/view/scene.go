package view

import (
	"context"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql"
)

var (
	lookSceneSQL  = sql.Query("look_scene")
	lookBesideSQL = sql.Query("look_beside")
	lookRoomSQL   = sql.Query("look_room")

	lookThatStartSQL = sql.Query("look_that_start")
	lookPolicySQL    = sql.Query("look_policy")
)

// SceneRow is a job with locks, as a forecast sees it.
type SceneRow struct {
	Job      int64
	Type     string
	Priority int
	Share    string
	Locks    []string
	Behind   string
	Place    int
	Holds    bool
	Age      float64 // in seconds, since it was submitted
	Runs     float64 // and since it runs
}

// BesideRow is a job without locks, as a forecast sees it.
type BesideRow struct {
	Job      int64
	Type     string
	Priority int
	Slots    int // 0: it waits
	Age      float64
	Runs     float64
}

// besideMost is how many jobs without locks that wait are looked at.
const besideMost = 1000

// Scene gives what a forecast is made of: the holders of locks, about that many of the waiting jobs, mine among
// them, the other jobs that run and wait, and the policy.
func (l Look) Scene(ctx context.Context, most int, mine scheduler.JobID) (s lock.Scene, err error) {
	return l.scene(ctx, most, besideMost, mine)
}

// scene is the same; it looks at so many of the jobs without locks that wait.
func (l Look) scene(ctx context.Context, most, besides int, mine scheduler.JobID) (s lock.Scene, err error) {
	rows, err := collect[SceneRow](ctx, l.db, "read jobs with locks", lookSceneSQL, most, mine)
	if err != nil {
		return s, err
	}
	s = lock.Scene{Now: time.Now(), Jobs: make([]lock.Seen, len(rows))}
	ago := func(sec float64) time.Time { return s.Now.Add(-time.Duration(sec * float64(time.Second))) }
	starts, err := l.typesThatStart(ctx)
	if err != nil {
		return s, err
	}
	holds := map[int64]bool{}
	for i, r := range rows {
		holds[r.Job] = r.Holds
		s.Jobs[i] = lock.Seen{Job: lock.ID(r.Job), Type: r.Type, Priority: r.Priority, Share: r.Share, Locks: r.Locks,
			Behind: r.Behind, Place: r.Place, Holds: r.Holds, Since: ago(r.Age), Started: ago(r.Runs),
			Stands: !r.Holds && !starts(r.Type)}
	}
	if s.Policy, err = l.Policy(ctx); err != nil {
		return s, err
	}
	room, err := l.Room(ctx)
	if err != nil {
		return s, err
	}
	s.Slots, s.Max, s.Each = room.Slots, room.Max, room.Each
	beside, err := collect[BesideRow](ctx, l.db, "read jobs without locks", lookBesideSQL, besides)
	if err != nil {
		return s, err
	}
	item := lock.ID(0) // of items of queries, each of which takes a slot
	for _, r := range beside {
		j := lock.Seen{Job: lock.ID(r.Job), Type: r.Type, Priority: r.Priority, Beside: true, Holds: r.Slots > 0,
			Since: ago(r.Age), Started: ago(r.Runs)}
		if r.Slots == 0 {
			j.Place = 1
			s.Jobs = append(s.Jobs, j)
			continue
		}
		if holds[r.Job] { // it is there with its locks, and its first slot
			r.Slots--
		}
		for n := range r.Slots {
			if n > 0 || holds[r.Job] {
				item--
				j.Job = item
			}
			s.Jobs = append(s.Jobs, j)
		}
	}
	return s, l.shared(ctx, &s, besides)
}

// typesThatStart tells whether jobs with locks of a type may start somewhere. Where RJM's jobs are taken, any type may
// be one of theirs.
func (l Look) typesThatStart(ctx context.Context) (func(typ string) bool, error) {
	rows, err := collect[struct{ Type string }](ctx, l.db, "read types that are served", lookThatStartSQL)
	types := map[string]bool{}
	for _, r := range rows {
		types[r.Type] = true
	}
	return func(typ string) bool { return types[typ] || types[string(scheduler.RJMType)] }, err
}

// Room is where live instances' jobs run.
func (l Look) Room(ctx context.Context) (lock.Room, error) {
	room := lock.Room{Max: map[string]int{}, Each: map[string]int{}}
	rows, err := collect[struct {
		Type string
		Most *int // nil: any number
		Each int  // slots that a job takes
	}](ctx, l.db, "read how many jobs may run", lookRoomSQL)
	for _, r := range rows {
		switch {
		case r.Type == "":
			room.Slots = *r.Most
			continue
		case r.Most != nil:
			room.Max[r.Type] = *r.Most
		}
		if r.Each > 1 {
			room.Each[r.Type] = r.Each
		}
	}
	return room, err
}

// Policy is the one that is obeyed: that of the newest instance, or the one that holds
// where none is configured.
func (l Look) Policy(ctx context.Context) (lock.Policy, error) {
	row, ok, err := first(collect[struct{ Policy string }](ctx, l.db, "read the policy of instances", lookPolicySQL))
	if err != nil || !ok {
		return lock.AnyLevel, err
	}
	return lock.ReadPolicy([]byte(row.Policy))
}
