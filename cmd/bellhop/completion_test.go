package main

import (
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

func TestCompletion_KnowsWhatIsInTheDatabase(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("submit", "convert", "x", "--key", "k.1", "--hold")
	if _, err := s.conn.Exec(t.Context(), `with i as (insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
			values ('i', 'h', 'm', 1, '1', 'v', '1 hour') returning id),
		h as (insert into bellhop.host (instance, name, slots, serves, state) select id, 'big1', 4, '{srv:7}', 'up' from i)
		insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host) select id, 'license', 'warm', 'auto', 'x', 0, 0 from i`); err != nil {
		t.Fatal(err)
	}
	s.sql("create table images (id int primary key, dispatch timestamptz)")
	s.ok("attach", "images", "--type", "convert", "--pool", "1")
	s.ok("filter", "replace", "f1", "--action", "REJECT", "--predicate", `["jobid", ["=", "id", 7]]`)
	s.ok("workflow", "notify", "add", "--mail", "ops@example.org")
	s.sql(`insert into bellhop.workflow (name, active, version, definition, changed_by) values ('nightly', true, 1, '{}', 'me')`)
	s.sql(`insert into bellhop.sensor (workflow, kind) values ('nightly', 'cron')`)
	s.sql(`insert into bellhop.run (workflow, version, triggered_by, state) values ('nightly', 1, 'me', 'failed')`)
	s.sql(`insert into bellhop.notice (run, workflow, project, state, ended_at, channel, target, needs, until, status)
		values (1, 'nightly', '', 'failed', now(), 'mail', 'ops@example.org', 'mail', now(), 'given_up')`)
	for line, want := range map[string][]string{
		"submit ":                {"license\twarm"},
		"submit a --run-on ":     {"big1\tup", "srv:7"},
		"submit a --after ":      {"1\tconvert, held"},
		"pause ":                 {"license"},
		"release ":               {"1\tconvert, held", "k.1\tconvert, held"},
		"cancel ":                {"k.1"},
		"show ":                  {"1\t"},
		"ls -s ":                 {"ready", "quarantined"},
		"ls -t ":                 {"license"},
		"ls -o ":                 {"json"},
		"install ":               {"roles", "systemd"},
		"trace ":                 {"1\tconvert, held"},
		"explain ":               {"k.1"},
		"rjmgo ":                 {"k.1"},
		"rjmls -s ":              {"dusting"},
		"prune -s ":              {"quarantined"},
		"submit --repeat ":       {"until_empty"},
		"submit --on-failure ":   {"block"},
		"submit --wanted ":       {"cancelled"},
		"agent check --mode ":    {"exec"},
		"migrate --compat ":      {"fossology"},
		"detach ":                {"images\t"},
		"edit ":                  {"1\tconvert, held"},
		"reload ":                {"i\th"},
		"manager stop ":          {"i\th"},
		"batch count ":           {"1\tconvert, held"},
		"filter info ":           {"f1\tREJECT"},
		"filter delete ":         {"f1\tREJECT"},
		"workflow show ":         {"nightly\tcron"},
		"workflow run ":          {"nightly\tcron"},
		"workflow runs ":         {"nightly\tcron"},
		"workflow ls --sensor ":  {"cron", "none"},
		"workflow runs --state ": {"queued", "skipped"},
		"workflow retry ":        {"1\tnightly"},
		"workflow notify test ":  {"1\tops@example.org"},
		"workflow notify again ": {"1\tnightly, given_up"},
		"doc":                    {"doctor"},
	} {
		out := s.ok(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		for _, w := range want {
			if !strings.Contains("\n"+out, "\n"+w) {
				t.Errorf("%q: no %q in %q", line, w, out)
			}
		}
	}
	if out := s.ok("__complete", "retry", ""); strings.Contains(out, "convert") {
		t.Errorf("a job that is not over cannot be tried again: %q", out)
	}
}

// TestCompletion_WithoutADatabaseSaysNothing: TAB is no place for errors.
func TestCompletion_WithoutADatabaseSaysNothing(t *testing.T) {
	t.Parallel()
	r := command("--database-url", "postgres://x@127.0.0.1:1/x", "__complete", "show", "")
	if r.code != 0 || !strings.HasPrefix(r.stdout, ":4") {
		t.Errorf("%+v", r)
	}
}

// TestCompletion_OfEveryCommand: whatever takes a job completes jobs, and none
// offers the files of this folder for what is no file.
func TestCompletion_OfEveryCommand(t *testing.T) {
	t.Parallel()
	a := &cli.App{Getenv: func(string) string { return "" }}
	for _, c := range newRoot(a).Commands() {
		if !c.IsAvailableCommand() || c.HasSubCommands() || c.Name() == "help" {
			continue
		}
		if c.ValidArgsFunction == nil && c.ValidArgs == nil {
			t.Errorf("%s completes files", c.Name())
			continue
		}
		r := command("--database-url", "postgres://x@127.0.0.1:1/x", "__complete", c.Name(), "")
		if files := strings.HasPrefix(r.stdout, ":0"); r.code != 0 || files {
			t.Errorf("%s: %+v", c.Name(), r)
		}
	}
}
