package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler/workflow"
)

const templates = `templates:
  convert: {type: convert, args: "--all ${DAY}", timeout: 1h, max_attempts: 3, vars: {LANG: C, LEVEL: low}, locks: ["disk:7=shared"]}
  mail:
    type: mail
    on_failure: run
`

// A step has what its template says, and says for itself what is different.
func TestTemplates_StepsStartFromThem(t *testing.T) {
	t.Parallel()
	const text = `workflow: nightly
parameters: {DAY: today}
steps:
- {name: as-it-is, template: convert}
- {name: own, template: convert, args: one, vars: {LEVEL: high}, locks: [], max_attempts: 1}
- {name: queried, template: convert, msq: "select id, name from file", type: convert2}
- {name: told, template: mail, after: [own]}
`
	args, one, query := "--all ${DAY}", "one", "select id, name from file"
	hour := workflow.Duration(time.Hour)
	disk := []string{"disk:7=shared"}
	want := []workflow.Step{
		{Name: "as-it-is", Type: "convert", Args: &args, Timeout: hour, MaxAttempts: 3, Vars: map[string]string{"LANG": "C", "LEVEL": "low"}, Locks: disk},
		{Name: "own", Type: "convert", Args: &one, Timeout: hour, MaxAttempts: 1, Vars: map[string]string{"LANG": "C", "LEVEL": "high"}},
		{
			Name: "queried", Type: "convert2", MSQ: &query, Timeout: hour, MaxAttempts: 3,
			Vars: map[string]string{"LANG": "C", "LEVEL": "low"}, Locks: disk,
		},
		{Name: "told", Type: "mail", After: []string{"own"}, OnFailure: "run"},
	}
	for name, files := range map[string][]File{
		"in one file, behind":    {{"w.yaml", []byte(text + "---\n" + templates)}},
		"in one file, before":    {{"w.yaml", []byte(templates + "---\n" + text)}},
		"in another, given last": {{"w.yaml", []byte(text)}, {"t.yaml", []byte(templates)}},
	} {
		list, err := Workflows(files...)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d workflows, %v", name, len(list), err)
		}
		for i, s := range list[0].Steps {
			if len(s.Locks) == 0 {
				s.Locks = nil
			}
			if !reflect.DeepEqual(s, want[i]) {
				t.Errorf("%s: step %s is\n%+v, want\n%+v", name, s.Name, s, want[i])
			}
		}
		out, err := WriteWorkflow(list[0])
		if err != nil || strings.Contains(string(out), "template") {
			t.Errorf("what is kept says by itself what it does: %s, %v", out, err)
		}
	}
}

func TestTemplates_WhatIsWrongIsSaidWhereItStands(t *testing.T) {
	t.Parallel()
	workflow := func(step string) File {
		return File{"w.yaml", []byte("workflow: w\nsteps:\n- {name: a, " + step + "}\n")}
	}
	kept := File{"t.yaml", []byte(templates)}
	for _, x := range []struct {
		files []File
		want  string
	}{
		{[]File{workflow("template: convrt"), kept}, `w.yaml:3:23: there is no template "convrt"; did you mean "convert"?`},
		{[]File{workflow("template: convert")}, `there is no template "convert"; write it in a document of its own, here or in another file`},
		{[]File{workflow("template: [convert]"), kept}, "steps[0].template must be"},
		{[]File{workflow("template: null"), kept}, "w.yaml:3:3: steps[0].type is missing"},
		{[]File{workflow("template: x"), {"t.yaml", []byte("templates: {x: {args: y}}")}}, "steps[0].type is missing"},
		{[]File{workflow("template: x"), {"t.yaml", []byte("templates: {x: {type: sh, args: '${NO}'}}")}}, "w.yaml:3:3: there is no parameter NO"},
		{[]File{workflow("type: sh"), {"t.yaml", []byte("templates: {x: {type: sh, nam: y}}")}}, `t.yaml:1:27: unknown key "nam"`},
		{[]File{workflow("type: sh"), {"t.yaml", []byte("templates: {x: {type: sh, after: [y]}}")}}, `t.yaml:1:27: unknown key "after"`},
		{[]File{workflow("type: sh"), kept, {"u.yaml", []byte(templates)}}, `u.yaml:2:3: template "convert" is defined twice, first in t.yaml, line 2`},
		{[]File{workflow("type: sh"), {"t.yaml", []byte("templates: [x]")}}, "templates must hold names and steps, not"},
		{[]File{workflow("type: sh"), {"v.yaml", []byte("workflow: w\nsteps: [{name: a, type: sh}]\n")}}, `v.yaml:1:11: workflow "w" is defined twice, first in w.yaml, line 1`},
		{[]File{{"w.yaml", []byte("workflow: w\ntemplates: {}\nsteps: [{name: a, type: sh}]\n")}}, `w.yaml:2:1: unknown key "templates"`},
		{[]File{kept}, "t.yaml: there is no workflow in it"},
		{[]File{workflow("type: sh"), {"e.yaml", []byte("# nothing\n")}}, "e.yaml: there is no workflow in it"},
	} {
		_, err := Workflows(x.files...)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s\n%v\nwant %s", x.files[0].Text, err, x.want)
		}
	}
}

// What docs/workflows.md shows of templates is read as it stands there.
func TestTemplates_AsThePageShowsThem(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```text\ntemplates:")
	shown, _, _ = strings.Cut(shown, "```")
	list, err := Workflows(File{"shown.yaml", []byte("templates:" + shown)})
	if err != nil || len(list) != 1 || len(list[0].Steps) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	films := list[0].Steps[1]
	if films.Vars["LEVEL"] != "high" || films.Timeout.String() != "4h" || len(films.Locks) != 1 {
		t.Errorf("%+v", films)
	}
}
