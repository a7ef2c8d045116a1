package page

import (
	"slices"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// stepRow is a step of a run, beside the others of the run, and beside itself in earlier runs.
type stepRow struct {
	view.StepRow
	NotRun bool    // it failed since one that it needs did
	X, W   float64 // when it ran, on a width of 1000; W 0: it did not
	Usual  string  // how long it takes as a rule; empty: not known
	Slow   bool    // it took, or takes, half as long again, and seconds more
}

// Took is how long it took, or has taken so far.
func (r stepRow) Took() string { return took(r.StartedAt, r.EndedAt) }

// stepRows places the steps of a run on its time. usual: seconds by step.
func stepRows(
	list []view.StepRow, victims map[scheduler.JobID]bool, usual map[string]float64, now time.Time,
) []stepRow {
	rows := make([]stepRow, len(list))
	var from, to time.Time
	end := func(s view.StepRow) time.Time {
		if s.EndedAt != nil {
			return *s.EndedAt
		}
		return now
	}
	list = slices.Clone(list)
	for i := range list {
		s := &list[i]
		switch { // a retry counts from its own start; of what never ran an earlier start tells nothing
		case neverStarted(*s, victims):
			s.StartedAt = nil
		case s.AttemptAt != nil:
			s.StartedAt = s.AttemptAt
		}
	}
	for _, s := range list {
		if s.StartedAt == nil {
			continue
		}
		if from.IsZero() || s.StartedAt.Before(from) {
			from = *s.StartedAt
		}
		if e := end(s); e.After(to) {
			to = e
		}
	}
	whole := max(to.Sub(from).Seconds(), 1e-6)
	for i, s := range list {
		r := stepRow{StepRow: s, NotRun: neverStarted(s, victims)}
		if s.StartedAt != nil {
			lasted := end(s).Sub(*s.StartedAt).Seconds()
			r.W = max(lasted/whole*1000, 4)
			r.X = min(s.StartedAt.Sub(from).Seconds()/whole*1000, 1000-r.W)
			if u, ok := usual[words.Text(s.Step)]; ok {
				r.Usual = words.Took(u)
				r.Slow = lasted > u*1.5 && lasted > u+2
			}
		}
		rows[i] = r
	}
	return rows
}

// neverStarted reports whether a step failed since one that it needs did.
func neverStarted(s view.StepRow, victims map[scheduler.JobID]bool) bool {
	return victims[s.Job] || s.State == scheduler.Failed && s.Attempt == 0
}

// usually is how long the steps of a run's workflow take as a rule, and "" the run, in seconds.
func usually(r *request, of view.RunRow) (map[string]float64, error) {
	rows, err := r.Look.Usual(r, of.Workflow, of.ID)
	if err != nil {
		return nil, err
	}
	usual := map[string]float64{}
	for _, u := range rows {
		usual[words.Text(u.Step)] = u.Seconds
	}
	return usual, nil
}

// lastLinesShown is how many lines a run's page shows of the step that failed first.
const lastLinesShown = 8

// failedFirst adds what the first step that failed said last: the others did not run because of it.
func (d *runData) failedFirst(r *request) error {
	i := slices.IndexFunc(d.Rows, func(s stepRow) bool { return s.State == scheduler.Failed && !s.NotRun })
	if i < 0 {
		return nil
	}
	d.Cause = &d.Rows[i]
	if !r.may.Operates {
		return nil
	}
	var err error
	d.Said, err = r.Look.LastLines(r, d.Cause.Job, view.LineFilter{Levels: logLevels}, lastLinesShown, shownMost)
	return err
}

// Took is how long the run took, or has taken so far.
func (d runData) Took() string { return took(d.StartedAt, d.EndedAt) }
