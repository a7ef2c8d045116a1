package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	page    = "docs/reliability.md"
	heading = "## Guards that were taken out\n"
	head    = heading + "\n`make mutations` takes each of these guards out of the program, one at a time, and runs the tests that are expected\n" +
		"to notice. The table is written by `scripts/mutate -write`.\n\n" +
		"| guard | promise | noticed by | seconds | commit, date |\n|---|---|---|---|---|\n"
)

// writePage puts the results into the table of the page. Rows of other guards stay as they are.
func writePage(results []result, commit string) error {
	text, err := os.ReadFile(page)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte("# Reliability\n\n" + heading)
	} else if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(replaced(string(text), results, commit, time.Now())), 0o644)
}

// replaced is the page with the results. Guards that are not in the program's table any more lose their row.
func replaced(text string, results []result, commit string, now time.Time) string {
	before, section, _ := strings.Cut(text, heading)
	section, after, more := strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, " | "); len(cells) == 5 {
			rows[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	for _, r := range results {
		noticed, seconds := "**not noticed**", ""
		if r.test != "" {
			noticed, seconds = "`"+r.test+"`", fmt.Sprintf("%.0f", max(1, r.took.Seconds()))
		}
		rows[r.name] = fmt.Sprintf("| %s | %s | %s | %s | %s, %s |\n", r.name, r.promise, noticed, seconds, commit,
			now.UTC().Format(time.DateOnly))
	}
	var b strings.Builder
	b.WriteString(before + head)
	for _, g := range guards() {
		b.WriteString(rows[g.name])
	}
	if more {
		b.WriteString("\n## " + after)
	}
	return b.String()
}
