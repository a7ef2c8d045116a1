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

// forecast is what the policy of the running instances says of a job that waits for
// its locks: what it weighs beside those that hold some, its place, and when it will
// start if jobs take as long as they did.
type forecast struct {
	Weight    float64            `json:"weight"`
	Levels    []lock.LevelWeight `json:"-"`
	Place     int                `json:"place"` // behind the lock that stands against it, from 1 on; 0: far behind
	StartsP50 *time.Time         `json:"starts_p50,omitempty"`
	StartsP90 *time.Time         `json:"starts_p90,omitempty"`
}

// A forecast looks at so many of those who wait, and at the durations of so many jobs.
const forecastMost, forecastNewest = 10_000, 5000

// foresee gives nil for a job that does not wait for locks.
func foresee(ctx context.Context, s *cli.Session, job store.JobRow) (*forecast, error) {
	if job.State != scheduler.Ready || job.Locks == nil {
		return nil, nil
	}
	scene, err := s.Scene(ctx, forecastMost, job.ID)
	if err != nil {
		return nil, err
	}
	if scene.Policy, err = s.Policy(ctx); err != nil {
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
	for _, h := range hosts {
		scene.Slots += h.Slots
	}
	id := lock.ID(job.ID)
	weight, there := scene.Weigh(id)
	if !there { // it has begun meanwhile
		return nil, nil
	}
	f := &forecast{Weight: weight.Weight, Levels: weight.Levels}
	if i := slices.IndexFunc(scene.Jobs, func(j lock.Seen) bool { return j.Job == id }); i >= 0 {
		f.Place = scene.Jobs[i].Place
	}
	if e, known := scene.Starts(lasting(durations))[id]; known {
		f.StartsP50, f.StartsP90 = &e.P50, &e.P90
	}
	return f, nil
}

// lasting is how long jobs of a type took.
func lasting(rows []store.DurationRow) lock.Durations {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	byType := map[string]store.DurationRow{}
	for _, r := range rows {
		byType[r.Type] = r
	}
	return func(typ string) (p50, p90 time.Duration, known bool) {
		r, known := byType[typ]
		return seconds(r.P50), seconds(r.P90), known
	}
}

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
			max(0, f.StartsP50.Sub(now)).Round(time.Second), max(0, f.StartsP90.Sub(now)).Round(time.Second))
	}
	return text.String()
}
