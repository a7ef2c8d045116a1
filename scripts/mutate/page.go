package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"time"
)

const (
	page    = "docs/reliability.md"
	heading = "## Checks that were taken out\n"
	head    = heading + "\n`make mutations` takes each of these checks out of the program, one at a time, and runs the tests that are expected\n" +
		"to notice. The table is written by `scripts/mutate -write`.\n\n" +
		"| check | promise | noticed by | seconds | commit, date |\n|---|---|---|---|---|\n"
)

const (
	plantedHeading = "## Faults that torture found\n"
	plantedHead    = plantedHeading + "\nEach of these faults breaks a promise. If a second check stands behind the first, both are left out. `make\n" +
		"mutations` plants them, one at a time, and `bellhop torture --first` must find each. The table is written by\n" +
		"`scripts/mutate -write`.\n\n" +
		"| planted fault | harm | shown by | histories | seconds | commit, date |\n|---|---|---|---|---|---|\n"
)

// results are what came of the guards, and of the planted faults.
type results struct {
	noticed []result
	found   []found
}

// write puts the results into the tables of the page. Other rows stay as they are.
func (r results) write(really bool, commit string) error {
	if !really {
		return nil
	}
	text, err := os.ReadFile(page)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte("# Reliability\n\n" + heading)
	} else if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(r.replaced(string(text), commit, time.Now())), 0o644)
}

// replaced is the page with the results.
func (r results) replaced(text, commit string, now time.Time) string {
	rows, names := map[string]string{}, []string{}
	for _, f := range r.found {
		broken := "**not found**"
		if f.why == "" {
			broken = f.broken
		}
		rows[f.name] = fmt.Sprintf("| %s | %s | %s | %d | %.0f | %s, %s |\n", f.name, f.harm, broken, f.histories,
			f.took.Seconds(), commit, now.UTC().Format(time.DateOnly))
	}
	for _, p := range plantedFaults() {
		names = append(names, p.name)
	}
	text = table(text, plantedHeading, plantedHead, names, rows)
	rows, names = map[string]string{}, nil
	for _, r := range r.noticed {
		noticed, seconds := "**not noticed**", ""
		if r.test != "" {
			noticed, seconds = "`"+r.test+"`", fmt.Sprintf("%.0f", max(1, r.took.Seconds()))
		}
		rows[r.name] = fmt.Sprintf("| %s | %s | %s | %s | %s, %s |\n", r.name, r.promise, noticed, seconds, commit,
			now.UTC().Format(time.DateOnly))
	}
	for _, g := range guards() {
		names = append(names, g.name)
	}
	return table(text, heading, head, names, rows)
}

// table puts new rows into a section of the page. Names that are not in the program's table any more lose their row.
func table(text, heading, head string, names []string, changed map[string]string) string {
	before, section, _ := strings.Cut(text, heading)
	section, after, more := strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, " | "); len(cells) > 4 {
			rows[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	maps.Copy(rows, changed)
	var b strings.Builder
	b.WriteString(before + head)
	for _, name := range names {
		b.WriteString(rows[name])
	}
	if more {
		b.WriteString("\n## " + after)
	}
	return b.String()
}
