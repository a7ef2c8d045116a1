package store

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A line break in a value becomes \n where it fills a parameter of args, and JSON is compacted; elsewhere the value
// stays as it is.
func TestValues_WithLineBreaks(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.exec(`select bellhop.workflow_apply('{"workflow":"w","sensor":{"http":true},"parameters":{"V":""},
		"steps":[{"name":"a","type":"cat","args":"${V}","vars":{"V":"${V}"}}]}')`)
	for _, c := range []struct{ value, want string }{
		{"one line \\ and more", "one line \\ and more"}, {"two\nlines\r\n", `two\nlines\r\n`},
		{"{\n  \"a\": [1,\n 2]\n}", `{"a": [1, 2]}`}, {"{\n no JSON", `{\n no JSON`},
	} {
		if got := e.one("select bellhop.one_line($1)", c.value); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.value, got, c.want)
		}
	}
	e.exec(`select bellhop.workflow_http('w', '1', jsonb_build_object('v', e'a\nb'))`)
	turn(e, s)
	if got := e.one(`select args || ' ' || (vars ->> 'V' = e'a\nb') from bellhop.jobqueue where step = 'a'`); got != `a\nb true` {
		t.Errorf("the job is of %q", got)
	}
}

// A run that cannot be made says which step and which parameter it is about; when an event comes to a run again, that
// is over.
func TestValues_ThatNoRunCanBeMadeOf(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	s := desk(e, NewSensors)
	e.exec(`select bellhop.workflow_apply('{"workflow":"w","sensor":{"http":true},"parameters":{"DISK":"1"},
		"steps":[{"name":"a","type":"cat"},{"name":"load","type":"cat","locks":["${DISK}:1=shared"]}]}')`)
	e.exec(`select bellhop.workflow_http('w', '1', '{"disk":"a b"}')`)
	turn(e, s)
	const problem = "select coalesce(problem, 'none') from bellhop.sensor"
	for _, got := range []string{e.one("select reason from bellhop.run"), e.one(problem)} {
		if !strings.Contains(got, `step load: lock "a b:1=shared", character 2:`) ||
			!strings.Contains(got, "(parameter DISK)") {
			t.Errorf("it says %q", got)
		}
	}
	if got := e.fails(`select bellhop.workflow_run('w', '{"DISK":"a b"}')`); !strings.Contains(got, "step load: lock") {
		t.Error(got)
	}
	e.exec(`select bellhop.workflow_http('w', '2', '{"disk":"7"}')`)
	turn(e, s)
	if got := e.one(problem); got != "none" {
		t.Errorf("after an event that ran, its problem is %q", got)
	}
}

// One line that YAML has put a line break behind is one line.
func TestWorkflow_ArgsOfOneLine(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`select bellhop.workflow_apply(jsonb_build_object('workflow', 'w', 'steps', jsonb_build_array(jsonb_build_object('name', 'a', 'type', 'cat', 'args', e'echo\n'))))`)
	if got := e.one("select definition -> 'steps' -> 0 ->> 'args' from bellhop.workflow"); got != "echo" {
		t.Errorf("args are %q", got)
	}
	if got := e.fails(`select bellhop.workflow_apply('{"workflow":"v","steps":[{"name":"a","type":"cat","args":"echo\n\n"}]}')`); !strings.Contains(got, "line break") {
		t.Error(got)
	}
}

// Workflows that would start each other are refused, however many they are, and also where they come at the same time.
func TestWorkflow_Rings(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	const steps = `[{"name":"a","type":"cat"}]`
	after := func(of string) string { return `{"workflow":"` + of + `"}` }
	const refused = "select bellhop.workflow_apply(jsonb_build_object('workflow', '%s', 'active', %s, 'sensor', '{\"workflow\":\"%s\"}'::jsonb, 'steps', '[{\"name\":\"a\",\"type\":\"cat\"}]'::jsonb))"
	call := func(name, active, of string) string {
		return strings.NewReplacer("'%s'", "'"+name+"'", ", %s,", ", "+active+",", `\"`, `"`, `"%s"`, `"`+of+`"`).
			Replace(refused)
	}
	e.apply("a", after("b"), steps)
	e.apply("b", after("c"), steps)
	if got := e.fails(call("c", "true", "a")); !strings.Contains(got, "would start each other for ever: c after a after b after c") {
		t.Error(got)
	}
	if got := e.fails(call("c", "false", "a")); !strings.Contains(got, "would start each other") {
		t.Error(got)
	}
	e.apply("c", "null", steps)
	e.apply("d", after("c"), steps)
	// Two at once: one of them is refused.
	for range 5 {
		e.exec("delete from bellhop.workflow where name in ('x', 'y')")
		var all sync.WaitGroup
		var mu sync.Mutex
		failed := 0
		for _, pair := range [][2]string{{"x", "y"}, {"y", "x"}} {
			conn, err := pgx.Connect(t.Context(), e.url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			all.Go(func() {
				if _, err := conn.Exec(t.Context(), call(pair[0], "true", pair[1])); err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if failed != 1 {
			t.Errorf("%d of two were refused", failed)
		}
	}
}

// Names differ by more than the case of their letters, since patterns do not see it.
func TestWorkflow_NamesThatDifferByCase(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("Nightly", "null", `[{"name":"a","type":"cat"}]`)
	if got := e.fails(`select bellhop.workflow_apply('{"workflow":"nightly","steps":[{"name":"a","type":"cat"}]}')`); !strings.Contains(got, "there is a workflow Nightly already") {
		t.Error(got)
	}
	e.apply("Nightly", "null", `[{"name":"b","type":"cat"}]`)
}
