package scheduler

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/state_machines.md anew")

const statesDoc = "../docs/state_machines.md"

// docs/state_machines.md is printed from the code, so that it is true of it.
func TestStatesDoc_IsWhatTheCodeDoes(t *testing.T) {
	t.Parallel()
	want := printStates()
	if *update {
		if err := os.WriteFile(statesDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(statesDoc)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the code does (%v): look at the difference after `go test ./scheduler -update`", statesDoc,
			err)
	}
}

func printStates() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# State machines\n\nPrinted from the code by `make generate`; a test fails when this page and the code differ.\n\n")

	p("## A child\n\nOne running process of an agent (`scheduler/child.go`). `Step` is a pure function: state and event in, state and effects out.\n\n")
	p("```mermaid\nstateDiagram-v2\n    [*] --> FREE\n")
	for _, m := range childMoves() {
		p("    %s\n", m)
	}
	p("```\n\n")
	p("State × event: the state it leads to where that is another one, then what is done. `·`: nothing happens. In RUNNING and FREEING a line is in the\n" +
		"agent's hands; *more queued*: and another is prefetched behind it; *told to go*: while it worked or came up. FREEING is shown under the order\n" +
		"to shut down.\n\n| event |")
	for _, s := range columns {
		p(" %s |", s)
	}
	p("\n|---|%s\n", strings.Repeat("---|", len(columns)))
	for _, h := range happenings {
		p("| %s |", h.words)
		for _, s := range columns {
			p(" %s |", cell(s, h))
		}
		p("\n")
	}

	p("\nWhat a death is called depends on the order that the child died under. A line that the process had taken up after the one that the order was about\nis *lost*, which is no attempt.\n\n")
	p("| order | the line in hand | counts as a death of the type |\n|---|---|---|\n")
	for o := range orders {
		outcome, counted := deathUnder(o)
		p("| %s | %s | %s |\n", o, outcome, yes(counted))
	}

	p("\n## A job\n\nThe column `bellhop.jobqueue.state` (`scheduler/job.go`). Out of a final state only `retry` leads.\n\n")
	p("```mermaid\nstateDiagram-v2\n")
	for _, from := range JobStates {
		for _, to := range jobMoves[from] {
			p("    %s --> %s%s\n", from, to, map[bool]string{true: ": retry"}[from.Final()])
		}
	}
	p("```\n\n| from \\ to |")
	for _, to := range JobStates {
		p(" %s |", to)
	}
	p("\n|---|%s\n", strings.Repeat("---|", len(JobStates)))
	for _, from := range JobStates {
		p("| **%s** |", from)
		for _, to := range JobStates {
			switch {
			case !from.CanBecome(to):
				p("   |")
			case from.Final():
				p(" retry |")
			default:
				p(" × |")
			}
		}
		p("\n")
	}

	p("\n## The end of an attempt\n\nWhat a single job becomes (`scheduler.Judge`), by its outcome.\n\n")
	p("| outcome | attempts left | none left | at the %drd death | an attempt |\n|---|---|---|---|---|\n",
		QuarantineDeaths)
	for o := range outcomes {
		left, none := Judge(ended(o, 1, 2, 0), DefaultRetry, 0), Judge(ended(o, 1, 1, 0), DefaultRetry, 0)
		death := Judge(ended(o, 1, 2, QuarantineDeaths-1), DefaultRetry, 0)
		p("| %s | %s | %s | %s | %s |\n", o, left.State, none.State, death.State, yes(left.Counts))
	}

	p("\n## The gate\n\nHow an instance learns of new work (`scheduler/gate.go`; `docs/waking.md`). *Quiet* and *busy* are\n" +
		"what `scheduler.WakePolicy` makes of rings and claims; *shut*, *ended* and *again* answer an ask.\n\n| event |")
	for _, s := range gateStates {
		p(" %s |", s)
	}
	p("\n|---|%s\n", strings.Repeat("---|", len(gateStates)))
	for _, k := range gateKinds {
		p("| %s |", gateWords[k])
		for _, s := range gateStates {
			p(" %s |", gateCell(s, k))
		}
		p("\n")
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func TestJobMoves_AreTotalAndEndWhereTheyShould(t *testing.T) {
	t.Parallel()
	if len(jobMoves) != len(JobStates) {
		t.Errorf("%d states, and moves from %d", len(JobStates), len(jobMoves))
	}
	reached := map[JobState]bool{Ready: true, Held: true} // how a row comes in
	for _, s := range JobStates {
		if !s.Valid() {
			t.Errorf("no moves from %s", s)
		}
		for _, to := range jobMoves[s] {
			reached[to] = true
			if !to.Valid() || to == s {
				t.Errorf("%s → %s", s, to)
			}
			if s.Final() && !slices.Contains([]JobState{Ready, Blocked, Scheduled}, to) {
				t.Errorf("final state %s leads to %s", s, to)
			}
		}
		if !s.Final() && !s.CanBecome(Cancelled) {
			t.Errorf("a job that is %s cannot be cancelled", s)
		}
	}
	for _, s := range JobStates {
		if !reached[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
	if JobState("done").Valid() || JobState("").CanBecome(Ready) {
		t.Error("a state that there is not")
	}
}

// What the SQL constraint allows, and in which states a job counts as taken or
// final, is the same here and there.
func TestJobStates_AreThoseOfTheConstraint(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../sql/baseline/01_queue.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "jobqueue_state_known")
	if !found {
		t.Fatal("no constraint jobqueue_state_known")
	}
	_, list, _ = strings.Cut(list, "(state in (")
	list, _, _ = strings.Cut(list, "))")
	var states []JobState
	for _, word := range strings.Split(list, ",") {
		states = append(states, JobState(strings.Trim(strings.TrimSpace(word), "'")))
	}
	if !slices.Equal(states, JobStates) {
		t.Errorf("the constraint has %v,\nthe code has       %v", states, JobStates)
	}
}
