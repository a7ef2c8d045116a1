package page

import (
	"bytes"
	"encoding/json"
	"time"

	"bellhop/scheduler/words"
	"bellhop/sql/store"
)

// Rows with what a template asks of them besides.

type runRow struct{ store.RunRow }

// Made is when it was made.
func (r runRow) Made() *time.Time { return &r.CreatedAt }

// Took is how long it took, or has taken so far.
func (r runRow) Took() string { return took(r.StartedAt, r.EndedAt) }

func runs(list []store.RunRow) []runRow {
	rows := make([]runRow, len(list))
	for i := range list {
		rows[i] = runRow{list[i]}
	}
	return rows
}

type stepRow struct{ store.StepRow }

// Took is how long it took, or has taken so far.
func (r stepRow) Took() string { return took(r.StartedAt, r.EndedAt) }

func steps(list []store.StepRow) []stepRow {
	rows := make([]stepRow, len(list))
	for i := range list {
		rows[i] = stepRow{list[i]}
	}
	return rows
}

type versionRow struct{ store.VersionRow }

// Changed is when it was made.
func (r versionRow) Changed() *time.Time { return &r.ChangedAt }

type pausedRow struct{ store.PausedRow }

// Since is when it was paused.
func (r pausedRow) Since() *time.Time { return &r.PausedAt }

func pausedRows(list []store.PausedRow) []pausedRow {
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
