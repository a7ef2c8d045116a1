package demo

import (
	"fmt"
	"strings"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
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
	licences                   []Count
	failures                   []demoFailure
	job                        demoJob
	seconds                    float64 // of the whole demo
	url                        string
	gone                       bool   // the database was thrown away
	dataDir                    string // where it is kept; empty: it is not an embedded one, or gone
}

type Count struct {
	Licence string `json:"licence"`
	Files   int64  `json:"files"`
}

type demoFailure struct{ Path, Failure string }

// printDemo prints the report. The error says which files have no outcome.
func printDemo(a *cli.App, r demoReport, f *fileFinder) error {
	var err error
	if a.JSON() {
		err = printDemoJSON(a, r, f)
	} else {
		err = printDemoText(a, r, f)
	}
	if err != nil {
		return err
	}
	if r.open > 0 {
		why := fmt.Sprintf("%s without an outcome; job %d %s", cli.Counted(r.open, "file"), r.job.id, r.job.state.Predicate())
		if r.job.error != "" {
			why += ": " + cli.Flat(r.job.error)
		}
		return cli.Failed(cli.ExitJobFailed, "demo", "bellhop demo --keep   keeps the database; look into it with: bellhop serve", "%s", why)
	}
	return nil
}

func printDemoJSON(a *cli.App, r demoReport, f *fileFinder) error {
	return a.PrintJSON(struct {
		Dir      string   `json:"dir"`
		Files    int64    `json:"files"`
		Found    int64    `json:"found"`
		None     int64    `json:"none"`
		Failed   int64    `json:"failed"`
		Seconds  float64  `json:"seconds"`
		First    *float64 `json:"first_item_seconds"`
		Warm     *float64 `json:"warm_seconds"`
		Licences []Count  `json:"licences"`
	}{f.dir, r.files, r.found, r.none, r.failed, r.seconds, r.firstItem(), r.warm, append([]Count{}, r.licences...)})
}

func printDemoText(a *cli.App, r demoReport, f *fileFinder) error {
	if err := a.PrintTable(r.table()); err != nil {
		return err
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("")
	for _, failure := range r.failures {
		say("failed: %s: %s", cli.Clean(failure.Path), cli.Clean(failure.Failure))
	}
	if more := r.failed - int64(len(r.failures)); more > 0 && len(r.failures) > 0 {
		say("failed: %s more", cli.Grouped(more))
	}
	say("%s: %s, %s", cli.Clean(f.dir), cli.Counted(int64(f.taken[kindLicence]), "licence-like file"),
		cli.Counted(int64(f.taken[kindSource]), "source file"))
	if f.more {
		say("There are more; it stopped at --limit %d (0: all).", f.limit)
	}
	if f.closed > 0 {
		say("Not read: %s.", cli.Counted(int64(f.closed), "folder"))
	}
	if r.job.id == 0 {
		say("Nothing to do: every file has an outcome already.")
	} else {
		say("Job %d did %s with %s in %s: %s files/s.", r.job.id, cli.Counted(r.job.todo, "file"),
			cli.Counted(int64(r.job.agents), "agent"),
			r.job.took.Round(10*time.Millisecond), cli.Grouped(perSecond(r.job.todo, r.job.took)))
		if r.job.state != scheduler.Succeeded {
			say("It %s: %s", r.job.state.Predicate(), cli.Clean(cli.Flat(r.job.error)))
		}
	}
	if first := r.firstItem(); first != nil {
		say("From its INSERT until an agent had the first file: %s, the start of that agent included.",
			cli.Span(first))
	}
	if r.warm != nil {
		say("From the INSERT of a single job until a warm agent had it: %s (the median of %d).", cli.Span(r.warm),
			warmJobs)
	}
	switch {
	case r.gone:
		say("The database is gone; to keep it, and look into it: bellhop demo --keep")
	case r.dataDir != "":
		say("The same with psql, while the database is up (bellhop serve --data-dir %s):", cli.Clean(r.dataDir))
		say("  %s", psql(r.url, demoShow))
	default:
		say("The same with psql:")
		say("  %s", psql(r.url, demoShow))
	}
	say("files=%d found=%d none=%d failed=%d seconds=%.1f", r.files, r.found, r.none, r.failed, r.seconds)
	return a.Printf("%s", b.String())
}

// table is what was found, by number of files.
func (r demoReport) table() cli.Table {
	t := cli.Table{Header: []string{"LICENCE", "FILES"}}
	rest := int64(0)
	for i, l := range r.licences {
		if i < licencesShown {
			t.Add(cli.Cut(l.Licence, nameShown), cli.Grouped(l.Files))
		} else {
			rest += l.Files
		}
	}
	if rest > 0 {
		t.Add(fmt.Sprintf("(%d others)", len(r.licences)-licencesShown), cli.Grouped(rest))
	}
	t.Add("(none found)", cli.Grouped(r.none))
	t.Add("(failed)", cli.Grouped(r.failed))
	if r.open > 0 {
		t.Add("(no outcome)", cli.Grouped(r.open))
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
	line := "psql '" + strings.ReplaceAll(cli.Redact(url), "'", `'\''`) + "'"
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
