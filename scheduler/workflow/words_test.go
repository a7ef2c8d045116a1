package workflow_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
)

// The table of words in docs/workflows.md is what Word says: of each word the states, and what stands beside them.
func TestWord_IsTheTableOfTheDocs(t *testing.T) {
	t.Parallel()
	said := map[string][]string{}
	say := func(state scheduler.JobState, attempt int, endedAs scheduler.EndedAs, cause string) string {
		word := workflow.Word(string(state), attempt, string(endedAs), cause)
		for _, code := range []string{string(state), string(endedAs), cause} {
			if code != "" && !slices.Contains(said[word], code) {
				said[word] = append(said[word], code)
			}
		}
		return word
	}
	for _, state := range scheduler.JobStates {
		say(state, 1, "", "")
	}
	for _, as := range []scheduler.EndedAs{scheduler.NoData, scheduler.Skipped} {
		say(scheduler.Succeeded, 1, as, "")
	}
	for _, cause := range []string{"submission_timeout", "engine_lost"} {
		say(scheduler.Failed, 1, "", cause)
	}
	if word := say(scheduler.Failed, 0, "", ""); word != "FailedPreviousJob" {
		t.Errorf("a step that failed and never began is %s", word)
	}
	codes := slices.Concat(slices.Collect(maps.Values(said))...)

	text, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| there | here |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	written := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		if len(cells) != 2 {
			t.Fatalf("%q is no row of two", row)
		}
		word := strings.TrimPrefix(cells[0], "| ")
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			if slices.Contains(codes, code[1]) {
				written[word] = append(written[word], code[1])
			}
		}
	}
	for _, list := range []map[string][]string{said, written} {
		for _, codes := range list {
			slices.Sort(codes)
		}
	}
	if !maps.EqualFunc(said, written, slices.Equal) {
		t.Errorf("the docs have %v, and Word says %v", written, said)
	}
}
