// Package report is what is said about a job from several rows together: why it
// waits and when it will start, and what happened when. Commands print it, and the
// API answers with it; the JSON is the same.
package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
	"bellhop/scheduler/sketch"
	"bellhop/sql/view"
)

// Forecast is what the policy of the running instances says of a job that waits for
// its locks: what it weighs beside those that hold some, its place, and when it will
// start if jobs take as long as they did.
type Forecast struct {
	Weight    float64            `json:"weight" required:"false" doc:"Of a job that waits for locks"`
	Levels    []lock.LevelWeight `json:"-"`
	Place     int                `json:"place"  required:"false" doc:"In the line behind the lock that it waits for, from 1 on; 0: far behind"`
	StartsP50 *time.Time         `json:"starts_p50,omitempty"`
	StartsP90 *time.Time         `json:"starts_p90,omitempty"`
	Unknown   string             `json:"-"` // why there is no time
	*PastError
}

// PastError is by how much forecasts were off that looked as far ahead as this one, in
// seconds: half of them, and nine of ten, by no more.
type PastError struct {
	P50   float64 `json:"starts_error_p50" required:"false" doc:"By so many seconds at most half of the earlier forecasts were off"`
	P90   float64 `json:"starts_error_p90" required:"false" doc:"By so many at most nine of ten were"`
	Count int64   `json:"starts_errors"    required:"false" doc:"Number of these forecasts"`
}

// fewErrors is less than what a part of the forecasts has to have, to be judged by itself.
const fewErrors = 10

// errorOf is nil where no job has started yet of which that was foretold.
func errorOf(off map[string]sketch.Sketch, ahead time.Duration) *PastError {
	s := off[lock.Horizon(ahead)]
	if s.N() < fewErrors {
		s = sketch.Sketch{}
		for _, some := range off {
			s.Merge(some)
		}
	}
	p50, known := s.Quantile(.5)
	p90, _ := s.Quantile(.9)
	if !known {
		return nil
	}
	return &PastError{P50: p50.Seconds(), P90: p90.Seconds(), Count: s.N()}
}

// forecastMost is how many waiting jobs a forecast looks at.
const forecastMost = 10_000

// Foresee gives nil for a job that does not wait for locks.
func Foresee(ctx context.Context, s view.Look, job view.JobRow) (*Forecast, error) {
	if job.State != scheduler.Ready || job.Locks == nil {
		return nil, nil
	}
	scene, err := s.Scene(ctx, forecastMost, job.ID)
	if err != nil {
		return nil, err
	}
	sketches, err := s.Sketches(ctx)
	if err != nil {
		return nil, err
	}
	id := lock.ID(job.ID)
	weight, there := scene.Weigh(id)
	if !there { // it has begun meanwhile
		return nil, nil
	}
	f := &Forecast{Weight: weight.Weight, Levels: weight.Levels}
	gated, stands := false, false
	if i := slices.IndexFunc(scene.Jobs, func(j lock.Seen) bool { return j.Job == id }); i >= 0 {
		f.Place, gated, stands = scene.Jobs[i].Place, scene.Jobs[i].Gated(), scene.Jobs[i].Stands
	}
	starts := scene.Starts(sketches.Lasts)
	e, known := starts[id]
	unheard := scene.Unheard(id, sketches.Lasts)
	switch {
	case known && unheard != "":
		f.Place = scene.Place(id, starts)
		f.Unknown = fmt.Sprintf("no job of type %s has ended yet", unheard)
	case known:
		f.Place = scene.Place(id, starts)
		f.StartsP50, f.StartsP90 = &e.P50, &e.P90
		f.PastError = errorOf(sketches.Off, e.P50.Sub(scene.Now))
	case scene.Slots == 0:
		f.Unknown = "no instance is live, and has a host"
	case stands:
		f.Unknown = "no live instance serves its type, or that is paused"
	case gated:
		f.Unknown = "a filter or a limit keeps it, or its locks cannot be read; if it is known until when, the reason says so"
	case len(sketches.Took) == 0:
		f.Unknown = "how long jobs take is not known before one of them has ended"
	case f.Place == 0:
		f.Unknown = "so many wait before it that its place is not known"
	default:
		f.Unknown = "how long its obstacle stays, or how long such jobs take, is not known"
	}
	return f, nil
}

// Lines say it to people.
func (f *Forecast) Lines(now time.Time) string {
	var text strings.Builder
	var parts []string
	for _, l := range f.Levels {
		if l.Weight > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1f", l.Level, l.Weight))
		}
	}
	fmt.Fprintf(&text, "  weight %.2f", f.Weight)
	if len(parts) > 0 {
		fmt.Fprintf(&text, " (1 + %s; it falls with age)", strings.Join(parts, " + "))
	}
	if f.Place > 0 {
		fmt.Fprintf(&text, "; place %d in its queue", f.Place)
	}
	text.WriteString("\n")
	if f.StartsP50 != nil {
		about, within := max(0, f.StartsP50.Sub(now)).Round(time.Second), max(0, f.StartsP90.Sub(now)).Round(time.Second)
		switch {
		case within == 0:
			text.WriteString("  starts at any moment: what it waits for has taken as long as such jobs take, or nothing is in its way\n")
		case about == 0:
			fmt.Fprintf(&text, "  starts at any moment, very likely within %s, if jobs take as long as before\n", within)
		default:
			fmt.Fprintf(&text, "  starts in about %s, very likely within %s, if jobs take as long as before\n", about, within)
		}
		if e := f.PastError; e != nil {
			fmt.Fprintf(&text, "  of %d earlier forecasts, half were off by at most %s, nine of ten by at most %s\n",
				e.Count, span(e.P50), span(e.P90))
		}
	} else {
		fmt.Fprintf(&text, "  when it starts cannot be told: %s\n", f.Unknown)
	}
	return text.String()
}

// span is so many seconds, as exactly as it is worth saying.
func span(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
