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
	Skips    int   // how many runs it stands for, if more than two
	First    int64 // the oldest of them
	Versions bool  // the runs of its workflow in the list have several versions
}

// Says is its event, unless that is only the time at which a clock started it.
func (r runRow) Says() string {
	text := words.Text(r.Event)
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return ""
	}
	return clean(text)
}

// By is what started it.
func (r runRow) By() string { return clean(strings.TrimPrefix(r.TriggeredBy, "sensor ")) }

// Made is when it was made.
func (r runRow) Made() *time.Time { return &r.CreatedAt }

// Took is how long it took, or has taken so far.
func (r runRow) Took() string { return took(r.StartedAt, r.EndedAt) }

func runs(list []view.RunRow) []runRow {
	var rows []runRow
	version, several := map[string]int{}, map[string]bool{}
	for i := range list {
		r := &list[i]
		if v, ok := version[r.Workflow]; ok && v != r.Version {
			several[r.Workflow] = true
		}
		version[r.Workflow] = r.Version
	}
	for i := 0; i < len(list); {
		n := i + 1
		for n < len(list) && skippedAlike(list[i], list[n]) {
			n++
		}
		if n-i > 2 {
			rows = append(rows, runRow{RunRow: list[i], Skips: n - i, First: list[n-1].ID})
		} else {
			for _, r := range list[i:n] {
				rows = append(rows, runRow{RunRow: r, Versions: several[r.Workflow]})
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

// startedBy says what starts a workflow: its schedule in words, or what its sensor watches.
func startedBy(w view.WorkflowRow) string {
	every, scheduled := strings.CutPrefix(words.Text(w.Schedule), "every ")
	switch {
	case w.Sensor == nil:
		return ""
	case scheduled:
		return "every " + everyWords(every)
	case w.Schedule == nil:
		return watched(*w.Sensor, clean(words.Text(w.Source)))
	}
	text, zone, _ := strings.Cut(*w.Schedule, " in ")
	spec, err := cron.Parse(text, zone)
	if err != nil {
		return clean(*w.Schedule)
	}
	return spec.Words() + " (" + clean(text) + ")"
}

// everyWords is a period in words where that is one unit.
func everyWords(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return clean(text)
	}
	for _, unit := range []struct {
		is   time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}} {
		switch {
		case d == unit.is:
			return unit.name
		case d > unit.is && d%unit.is == 0:
			return words.Count(int(d/unit.is), unit.name)
		}
	}
	return words.Lasting(d.Seconds())
}

// watched says what a sensor without a clock waits for.
func watched(kind, source string) string {
	switch {
	case kind == "table":
		return "when a row comes to its table"
	case kind == "workflow" && source != "":
		return "after " + source
	case kind == "file":
		return "when a file comes"
	case source != "":
		return "by " + kind + " " + source
	}
	return "by " + kind
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

// took is how long something took, or with … how long it has lasted so far; empty: it has not begun.
func took(from, to *time.Time) string {
	switch {
	case from == nil:
		return ""
	case to == nil:
		return words.Lasting(time.Since(*from).Seconds()) + "…"
	}
	return words.Took(to.Sub(*from).Seconds())
}

// pretty is a text as it is, and an object or a list of JSON with a line for each part.
func pretty(text string) string {
	if t := strings.TrimSpace(text); t == "" || t[0] != '{' && t[0] != '[' {
		return text
	}
	return indented([]byte(text))
}

// indented is JSON for people.
func indented(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
