package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bellhop/scheduler"
)

// What of the lists is shown; the table has all of it.
const (
	licencesShown = 25
	failuresShown = 5
	nameShown     = 60 // characters
)

// demoReport is what the demo has to tell at its end.
type demoReport struct {
	files, found, none, failed int64
	open                       int64    // files without an outcome
	first                      *float64 // seconds from the job's INSERT to the first line in an agent's hands
	warm                       *float64 // the same of a single job, to an agent that is up: the median
	licences                   []demoCount
	failures                   []demoFailure
	job                        demoJob
	seconds                    float64 // of the whole demo
	url                        string
	gone                       bool   // the database was thrown away
	dataDir                    string // where it is kept; empty: it is not an embedded one, or gone
}

type demoCount struct {
	Licence string `json:"licence"`
	Files   int64  `json:"files"`
}

type demoFailure struct{ Path, Failure string }

// printDemo prints the report. The error says which files have no outcome.
func (a *app) printDemo(r demoReport, f *fileFinder) error {
	print := a.printDemoText
	if a.json() {
		print = a.printDemoJSON
	}
	if err := print(r, f); err != nil {
		return err
	}
	if r.open > 0 {
		why := fmt.Sprintf("%s without an outcome; job %d is %s", counted(r.open, "file"), r.job.id, r.job.state)
		if r.job.error != "" {
			why += ": " + flat(r.job.error)
		}
		return failed(exitJobFailed, "demo", "bellhop demo --keep   keeps the database, to look into it with: bellhop serve", "%s", why)
	}
	return nil
}

func (a *app) printDemoJSON(r demoReport, f *fileFinder) error {
	return a.printJSON(struct {
		Dir      string      `json:"dir"`
		Files    int64       `json:"files"`
		Found    int64       `json:"found"`
		None     int64       `json:"none"`
		Failed   int64       `json:"failed"`
		Seconds  float64     `json:"seconds"`
		First    *float64    `json:"first_item_seconds"`
		Warm     *float64    `json:"warm_seconds"`
		Licences []demoCount `json:"licences"`
	}{f.dir, r.files, r.found, r.none, r.failed, r.seconds, r.firstItem(), r.warm, append([]demoCount{}, r.licences...)})
}

func (a *app) printDemoText(r demoReport, f *fileFinder) error {
	if err := a.printTable(r.table()); err != nil {
		return err
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("")
	for _, failure := range r.failures {
		say("failed: %s: %s", clean(failure.Path), clean(failure.Failure))
	}
	if more := r.failed - int64(len(r.failures)); more > 0 && len(r.failures) > 0 {
		say("failed: %s more", grouped(more))
	}
	say("%s: %s, %s", clean(f.dir), counted(int64(f.taken[kindLicence]), "licence-like file"), counted(int64(f.taken[kindSource]), "source file"))
	if f.more {
		say("There are more; it stopped at --limit %d (0: all).", f.limit)
	}
	if f.closed > 0 {
		say("Not read: %s.", counted(int64(f.closed), "folder"))
	}
	if r.job.id == 0 {
		say("Nothing to do: every file has an outcome already.")
	} else {
		say("Job %d did %s with %s in %s: %s files/s.", r.job.id, counted(r.job.todo, "file"), counted(int64(r.job.agents), "agent"),
			r.job.took.Round(10*time.Millisecond), grouped(perSecond(r.job.todo, r.job.took)))
		if r.job.state != scheduler.Succeeded {
			say("It is %s: %s", r.job.state, clean(flat(r.job.error)))
		}
	}
	if first := r.firstItem(); first != nil {
		say("From its INSERT until an agent had the first file in hand: %s, the start of that agent included.", span(first))
	}
	if r.warm != nil {
		say("From the INSERT of a single job until an agent that is up had it: %s (the median of %d).", span(r.warm), warmJobs)
	}
	switch {
	case r.gone:
		say("The database is gone; to keep it, and look into it: bellhop demo --keep")
	case r.dataDir != "":
		say("The same with psql, while the database is up (bellhop serve --data-dir %s):", clean(r.dataDir))
		say("  %s", psql(r.url, demoShow))
	default:
		say("The same with psql:")
		say("  %s", psql(r.url, demoShow))
	}
	say("files=%d found=%d none=%d failed=%d seconds=%.1f", r.files, r.found, r.none, r.failed, r.seconds)
	return a.printf("%s", b.String())
}

// table is what was found, by number of files.
func (r demoReport) table() table {
	t := table{header: []string{"LICENCE", "FILES"}}
	rest := int64(0)
	for i, l := range r.licences {
		if i < licencesShown {
			t.add(cut(l.Licence, nameShown), grouped(l.Files))
		} else {
			rest += l.Files
		}
	}
	if rest > 0 {
		t.add(fmt.Sprintf("(%d others)", len(r.licences)-licencesShown), grouped(rest))
	}
	t.add("(none found)", grouped(r.none))
	t.add("(failed)", grouped(r.failed))
	if r.open > 0 {
		t.add("(no outcome)", grouped(r.open))
	}
	return t
}

// firstItem is nil when this demo had nothing to do.
func (r demoReport) firstItem() *float64 {
	if r.job.id == 0 {
		return nil
	}
	return r.first
}

// psql is a line to type. A password is not shown; psql asks for it.
func psql(url, query string) string {
	line := "psql '" + strings.ReplaceAll(redact(url), "'", `'\''`) + "'"
	if query != "" {
		line += ` -c "` + query + `"`
	}
	return line
}

func perSecond(n int64, took time.Duration) int64 {
	if took <= 0 {
		return 0
	}
	return int64(float64(n) / took.Seconds())
}

// grouped writes a number for people: 12,345.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}
