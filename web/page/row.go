package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"bellhop/scheduler/cron"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// Rows with what a template asks of them besides.

// runRow is a run, or several skipped runs of one workflow with one reason, of which it has the newest.
type runRow struct {
	view.RunRow
	Skips int   // how many runs it stands for, if more than two
	First int64 // the oldest of them
}

// Made is when it was made.
func (r runRow) Made() *time.Time { return &r.CreatedAt }

// Took is how long it took, or has taken so far.
func (r runRow) Took() string { return took(r.StartedAt, r.EndedAt) }

func runs(list []view.RunRow) []runRow {
	var rows []runRow
	for i := 0; i < len(list); {
		n := i + 1
		for n < len(list) && skippedAlike(list[i], list[n]) {
			n++
		}
		if n-i > 2 {
			rows = append(rows, runRow{RunRow: list[i], Skips: n - i, First: list[n-1].ID})
		} else {
			for _, r := range list[i:n] {
				rows = append(rows, runRow{RunRow: r})
			}
		}
		i = n
	}
	return rows
}

func skippedAlike(a, b view.RunRow) bool {
	return a.State == "skipped" && b.State == "skipped" && a.Workflow == b.Workflow &&
		words.Text(a.Reason) == words.Text(b.Reason)
}

// startedBy says what starts a workflow: its schedule in words, or the kind of its sensor.
func startedBy(w view.WorkflowRow) string {
	every, scheduled := strings.CutPrefix(words.Text(w.Schedule), "every ")
	switch {
	case w.Sensor == nil:
		return ""
	case scheduled:
		return "every " + every
	case w.Schedule == nil:
		return "by " + *w.Sensor
	}
	text, zone, _ := strings.Cut(*w.Schedule, " in ")
	spec, err := cron.Parse(text, zone)
	if err != nil {
		return clean(*w.Schedule)
	}
	return spec.Words() + " (" + clean(text) + ")"
}

type stepRow struct{ view.StepRow }

// Took is how long it took, or has taken so far.
func (r stepRow) Took() string { return took(r.StartedAt, r.EndedAt) }

func steps(list []view.StepRow) []stepRow {
	rows := make([]stepRow, len(list))
	for i := range list {
		rows[i] = stepRow{list[i]}
	}
	return rows
}

type versionRow struct{ view.VersionRow }

// Changed is when it was made.
func (r versionRow) Changed() *time.Time { return &r.ChangedAt }

type pausedRow struct{ view.PausedRow }

// Since is when it was paused.
func (r pausedRow) Since() *time.Time { return &r.PausedAt }

func pausedRows(list []view.PausedRow) []pausedRow {
	rows := make([]pausedRow, len(list))
	for i := range list {
		rows[i] = pausedRow{list[i]}
	}
	return rows
}

func took(from, to *time.Time) string {
	switch {
	case from == nil:
		return ""
	case to == nil:
		return words.Age(time.Since(*from).Seconds()) + "…"
	}
	s := to.Sub(*from).Seconds()
	return words.Span(&s)
}

// indented is JSON for people.
func indented(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
