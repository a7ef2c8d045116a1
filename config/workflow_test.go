package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bellhop/scheduler/workflow"
)

const nightly = `workflow: nightly            # unique
project: demo
active: true
sensor: {cron: "0 2 * * *", zone: Europe/Prague, catch_up: one}
parameters: {DAY: today}
steps:
  - {name: fetch, type: sh, args: "fetch ${DAY}"}
  - {name: convert, type: convert, after: [fetch]}
notify: [{when: [failed], mail: [ops@example.org], unless_success_within: 1h}]
`

// one reads a file by itself.
func one(name, text string) ([]workflow.Definition, error) {
	return Workflows(File{name, []byte(text)})
}
func TestWorkflows_ReadsADefinition(t *testing.T) {
	t.Parallel()
	list, err := one("nightly.yaml", (nightly + "---\nworkflow: other\nsteps:\n- {name: a, type: sh}\n- {name: b, type: sh}\n- {name: c, type: sh}\n"))
	if err != nil {
		t.Fatal(err)
	}
	args := "fetch ${DAY}"
	want := []workflow.Definition{{
		Name: "nightly", Project: "demo", Active: true,
		Sensor:     &workflow.Sensor{Cron: "0 2 * * *", Zone: "Europe/Prague", CatchUp: "one"},
		Parameters: map[string]string{"DAY": "today"},
		Steps: []workflow.Step{{Name: "fetch", Type: "sh", Args: &args},
			{Name: "convert", Type: "convert", After: []string{"fetch"}}},
		Notify: []workflow.Notice{{When: []string{"failed"}, Mail: []string{"ops@example.org"},
			UnlessSuccessWithin: workflow.Duration(time.Hour)}},
	}, {
		Name: "other", Active: true, Steps: []workflow.Step{
			{Name: "a", Type: "sh"}, {Name: "b", Type: "sh", After: []string{"a"}}, {Name: "c", Type: "sh", After: []string{"b"}},
		},
	}}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, want\n%+v", list, want)
	}
}

// Steps may stand in any order in the file, and need not wait for each other.
func TestWorkflows_PutsStepsBehindThoseTheyNeed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[{name: c, type: t, after: [a, b]}, {name: b, type: t, after: a}, {name: a, type: t}]": "a[] b[a] c[a b]",
		"[{name: c, type: t, after: []}, {name: b, type: t}]":                                   "c[] b[]",
	} {
		list, err := one("", ("workflow: w\nsteps: " + text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range list[0].Steps {
			got = append(got, fmt.Sprint(s.Name, s.After))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Every problem of a file is told at once, with line and column.
func TestWorkflows_TellsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	text := `workflow: "a b"
sensor: {cron: "61 * * * *", zone: Mars, catch_up: twice}
parameters: {1X: a, RUN: b}
stepz: []
steps:
  - {name: fetch, type: sh, args: "${DAX} $${HOME} ${"}
  - {name: fetch, type: command, after: [gone, fetch]}
  - {name: x, type: t, after: [y], priority: 99, on_failure: block}
  - {name: y, type: t, after: [x], args: "a\nb", msq: "select 1"}
  - {type: t, args: [1]}
---
workflow: two
sensor: {every: 10ms, workflow: two}
steps: []
---
workflow: two
sensor: {file: "*.csv"}
steps: [{name: a, type: t}]
---
workflow: three
sensor: {workflow: three, when: [done], at_most: 3}
steps: [{name: a, type: t, after: b}]
`
	want := `w.yaml:1:11: "a b" cannot be a name; letters, digits, . _ and -, at most 100
w.yaml:2:36: "Mars" is not a valid time zone: they are called like Europe/Prague, America/New_York, UTC; bellhop cron explain describes schedules
w.yaml:2:52: catch_up cannot be "twice"; known are one, all, none
w.yaml:3:13: "1X" cannot be the name of a parameter; letters, digits and _ only
w.yaml:3:13: every run has a parameter RUN of its own; give it another name
w.yaml:4:1: unknown key "stepz"; did you mean "steps"?
w.yaml:6:35: there is no parameter DAX; name it under parameters, or write $${DAX} if the text is to hold that
w.yaml:6:35: ${ without a name and a } behind it: "${"; write ${NAME}, or $${ where the text is to hold ${
w.yaml:7:12: there is a step "fetch" already, the 1st
w.yaml:7:25: a step cannot be of type command, which no agent runs
w.yaml:7:42: there is no step "gone"; a step is named by its name
w.yaml:7:48: step "fetch" cannot come after itself; leave it out
w.yaml:8:31: these steps would wait for each other for ever: x after y after x; leave out one of these
w.yaml:8:46: priority 99 is out of range; write -20 to 19
w.yaml:8:62: on_failure cannot be "block"; known are fail, run
w.yaml:9:42: there is a line break in the args; args are one line
w.yaml:9:55: a step has args or msq, and not both
w.yaml:10:5: steps[4].name is missing
w.yaml:10:21: steps[4].args must be a string, not a list
w.yaml:13:9: the sensor has every and workflow; it has one of cron, every, workflow, table, notify, http, file and kafka
w.yaml:14:8: there are no steps; write one like - {name: fetch, type: sh, args: "…"}
w.yaml:16:11: workflow "two" is defined twice, first on line 12
w.yaml:17:16: "*.csv" is not a valid pattern of whole paths; write it like /srv/in/*.csv
w.yaml:21:9: at_most and per mean nothing without each other; write both, like at_most: 8, per: 1h
w.yaml:21:20: a workflow cannot wait for itself; every: with after_finish: true starts it again
w.yaml:21:34: no run ends as "done"; known are succeeded, failed, skipped
w.yaml:22:35: there is no step "b"; a step is named by its name`
	_, err := one("w.yaml", text)
	if err == nil {
		t.Fatal("no problem")
	}
	got, list := strings.Split(err.Error(), "\n"), strings.Split(want, "\n")
	for i := range max(len(got), len(list)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %s", list[i])
		case i >= len(list):
			t.Errorf("not expected: %s", got[i])
		case got[i] != list[i]:
			t.Errorf("got  %s\nwant %s", got[i], list[i])
		}
	}
	if _, err := one("e.yaml", "# nothing\n"); err == nil || !strings.Contains(err.Error(), "there is no workflow in it") {
		t.Errorf("of an empty file: %v", err)
	}
}

// What is exported is read again as the same.
func TestWriteWorkflow_IsReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z][a-z0-9._-]{0,9}`)
		value := rapid.SampledFrom([]string{"", "x", "7", "true", "null", "~", "a: b", "# x", "- x", "$${x}", "ž 'q' \"d\"", " blank ", "0x1f", "1e3", "2026-01-01", "@a", "*", "&a", "yes"})
		d := workflow.Definition{Name: "w" + word.Draw(t, "name"), Active: rapid.Bool().Draw(t, "active"),
			Project: rapid.SampledFrom([]string{"", "7", "a b"}).Draw(t, "project")}
		d.Sensor = rapid.SampledFrom([]*workflow.Sensor{nil, {Cron: "*/5 * * * *", Zone: "UTC", CatchUp: "all"},
			{Every: workflow.Duration(90 * time.Minute), AfterFinish: true, AtMost: 3, Per: workflow.Duration(time.Hour)},
			{Workflow: "other", When: []string{"failed"}}, {Table: "shop.uploads", Event: "id"}, {Notify: "uploads", AtMost: 2,
				Per: workflow.Duration(time.Minute)}, {HTTP: true}, {File: "/srv/in/*.csv", Host: "big1", Event: "path",
				Stable: workflow.Duration(time.Second)}, {Kafka: "main", Topic: "up.loads", CatchUp: "none",
				Match: map[string]string{"kind": "upload"}}}).Draw(t, "sensor")
		if n := rapid.IntRange(0, 3).Draw(t, "parameters"); n > 0 {
			d.Parameters = map[string]string{}
			for i := range n {
				d.Parameters[fmt.Sprint("P", i)] = value.Draw(t, "value")
			}
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
			s := workflow.Step{Name: fmt.Sprint("s", i), Type: word.Draw(t, "type")}
			if text := value.Draw(t, "args"); rapid.Bool().Draw(t, "has args") {
				s.Args = &text
			}
			for k := range i {
				if rapid.Bool().Draw(t, "after") {
					s.After = append(s.After, fmt.Sprint("s", k))
				}
			}
			s.Priority, s.MaxAttempts = rapid.IntRange(-20, 19).Draw(t, "priority"), rapid.IntRange(0, 3).Draw(t, "attempts")
			if rapid.Bool().Draw(t, "all") {
				s.RunOn, s.Vars, s.Locks = value.Draw(t, "run_on")+"h", map[string]string{"A": "", "B": "7"}, []string{"big", "db:a=shared"}
				s.Timeout, s.OnFailure = workflow.Duration(90*time.Minute), "run"
			}
			d.Steps = append(d.Steps, s)
		}
		text, err := WriteWorkflow(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := one("", string(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(again, []workflow.Definition{d}) {
			t.Fatalf("%+v, want\n%+v\n%s", again[0], d, text)
		}
	})
}

func FuzzWorkflows(f *testing.F) {
	f.Add([]byte(nightly))
	f.Add([]byte("workflow: *a\nsteps: [{name: &a x, type: *a}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if list, err := one("", string(text)); err == nil {
			for _, d := range list {
				if faults := workflow.Check(d); len(faults) > 0 {
					t.Errorf("%+v of %q", faults, text)
				}
			}
		}
	})
}

// A definition with 10,000 steps is read, and one whose steps go round is refused.
func TestWorkflows_OfTenThousandSteps(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("workflow: long\nsteps:\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "  - {name: s%d, type: sh, after: [s%d]}\n", i, (i+9_999)%10_000)
	}
	_, err := one("", b.String())
	if err == nil || !strings.Contains(err.Error(), "wait for each other for ever") || len(err.Error()) > 1000 {
		t.Errorf("%.2000v", err)
	}
	list, err := one("", (strings.Replace(b.String(), "after: [s9999]", "after: []", 1)))
	if err != nil || len(list[0].Steps) != 10_000 {
		t.Error(err)
	}
}
