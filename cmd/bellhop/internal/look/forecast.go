package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/sql/store"
)

// forecast is what the policy says of a job that waits for its locks: what it
// weighs beside those that hold some, its place, and when it will start if jobs
// take as long as they did. By the constants that hold where none are configured.
type forecast struct {
	Weight    float64            `json:"weight"`
	Levels    []lock.LevelWeight `json:"-"`
	Place     int64              `json:"place"` // behind the lock that stands against it, from 1 on
	StartsP50 *time.Time         `json:"starts_p50,omitempty"`
	StartsP90 *time.Time         `json:"starts_p90,omitempty"`
}

// A forecast looks at so many of those who wait behind each lock, and at the
// durations of so many jobs.
const forecastFirst, forecastNewest = 500, 5000

// foresee gives nil for a job that does not wait for locks.
func foresee(ctx context.Context, s *cli.Session, job store.JobRow) (*forecast, error) {
	if job.State != scheduler.Ready || job.Locks == nil {
		return nil, nil
	}
	rows, err := s.Locks(ctx, forecastFirst)
	if err != nil {
		return nil, err
	}
	f := &forecast{}
	var ids []scheduler.JobID
	for _, r := range rows {
		if r.Job == int64(job.ID) {
			f.Place = r.Place
		}
		if id := scheduler.JobID(r.Job); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	jobs, err := s.Locked(ctx, ids)
	if err != nil {
		return nil, err
	}
	durations, err := s.Durations(ctx, forecastNewest)
	if err != nil {
		return nil, err
	}
	hosts, err := s.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	slots := 0
	for _, h := range hosts {
		slots += h.Slots
	}
	f.weigh(job, rows, jobs, slots, durations, time.Now())
	return f, nil
}

// weigh asks the policy.
func (f *forecast) weigh(
	job store.JobRow, rows []store.LockRow, jobs []store.LockedRow, slots int,
	durations []store.DurationRow, now time.Time,
) {
	held := heldBy(rows)
	policy := lock.AnyLevel
	var pending []lock.Job
	var running []lock.RunningJob
	var holders []lock.Set
	levels := slices.Clone(lock.GanetiLevels)
	for _, j := range jobs {
		wants, err := lock.ParseAll(j.Locks, nil)
		if err != nil {
			continue
		}
		one := lock.Job{ID: lock.ID(j.ID), Type: j.Type, Locks: wants, Priority: j.Priority, Since: now.Add(-seconds(j.Age))}
		for _, v := range wants.Levels {
			if !slices.Contains(levels, v.Level) {
				levels = append(levels, v.Level)
			}
		}
		if set, runs := held[int64(j.ID)]; runs {
			one.Locks = set
			running = append(running, lock.RunningJob{Job: one, Started: now.Add(-seconds(j.Runs))})
			holders = append(holders, set)
			continue
		}
		pending = append(pending, one)
	}
	policy.Levels = levels
	if wants, err := lock.ParseAll(job.Locks, nil); err == nil {
		w := policy.Constants.Weigh(wants, holders, levels, seconds(job.Age))
		f.Weight, f.Levels = w.Weight, w.Levels
	}
	starts := lock.Predict(pending, running, slots, policy, now, func(typ string) (p50, p90 time.Duration, known bool) {
		i := slices.IndexFunc(durations, func(d store.DurationRow) bool { return d.Type == typ })
		if i < 0 {
			return 0, 0, false
		}
		return seconds(durations[i].P50), seconds(durations[i].P90), true
	})
	if e, known := starts[lock.ID(job.ID)]; known {
		f.StartsP50, f.StartsP90 = &e.P50, &e.P90
	}
}

// heldBy is what each job holds.
func heldBy(rows []store.LockRow) map[int64]lock.Set {
	held := map[int64]lock.Set{}
	for _, r := range rows {
		if r.What != "holds" {
			continue
		}
		text := r.Level + ":" + r.Name + "=" + r.Mode
		if r.Level == lock.Big {
			text = lock.Big
		}
		w, err := lock.Parse(text)
		if err != nil { // a place within a limit
			held[r.Job] = held[r.Job].Merge(lock.Set{})
			continue
		}
		held[r.Job] = held[r.Job].Merge(lock.NewSet(w))
	}
	return held
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// lines say it to people.
func (f *forecast) lines(now time.Time) string {
	var text strings.Builder
	var parts []string
	for _, l := range f.Levels {
		if l.Weight > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1f", l.Level, l.Weight))
		}
	}
	fmt.Fprintf(&text, "  weight %.2f", f.Weight)
	if len(parts) > 0 {
		fmt.Fprintf(&text, " (1 and, by level, %s; it falls with age)", strings.Join(parts, ", "))
	}
	if f.Place > 0 {
		fmt.Fprintf(&text, "; place %d in its queue", f.Place)
	}
	text.WriteString("\n")
	if f.StartsP50 != nil {
		fmt.Fprintf(&text, "  starts in about %s, most likely within %s, as long as jobs take what they took\n",
			f.StartsP50.Sub(now).Round(time.Second), f.StartsP90.Sub(now).Round(time.Second))
	}
	return text.String()
}
