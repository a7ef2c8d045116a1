package page

import (
	"bytes"
	"encoding/json"
	"time"

	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// Rows with what a template asks of them besides.

type runRow struct{ view.RunRow }

// Made is when it was made.
func (r runRow) Made() *time.Time { return &r.CreatedAt }

// Took is how long it took, or has taken so far.
func (r runRow) Took() string { return took(r.StartedAt, r.EndedAt) }

func runs(list []view.RunRow) []runRow {
	rows := make([]runRow, len(list))
	for i := range list {
		rows[i] = runRow{list[i]}
	}
	return rows
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
