package main

import (
	"fmt"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// found are the runs that a command lists as JSON.
func (s *harness) found(args ...string) string {
	s.t.Helper()
	var ids []string
	for _, r := range objects(s.t, s.ok(append([]string{"workflow", "runs", "-o", "json"}, args...)...)) {
		ids = append(ids, fmt.Sprint(r["id"]))
	}
	return strings.Join(ids, " ")
}

// More runs lie between those that are asked for than one statement reads, and one workflow is gone.
func TestWorkflow_RunsOverAllWorkflows(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`insert into bellhop.workflow (name, project, active, version, definition, changed_by)
		values ('import-a', 'demo', true, 1, '{}', 'me'), ('Import-b', 'other', true, 1, '{}', 'me')`)
	s.sql(`insert into bellhop.run (id, workflow, version, triggered_by, state, created_at) overriding system value values
		(1, 'gone', 1, 'anna', 'failed', '2026-01-01 10:00Z'), (2, 'import-a', 1, 'sensor cron', 'failed', '2026-01-02 10:00Z'),
		(300000, 'import-a', 2, 'anna', 'succeeded', '2026-01-03 10:00Z'), (600000, 'Import-b', 1, 'sensor every', 'running', now())`)
	for _, c := range []struct{ flags, want string }{
		{"", "600000 300000 2 1"},
		{"-n 2", "600000 300000"},
		{"gone", "1"},
		{"import-*", "600000 300000 2"},
		{"--project demo", "300000 2"},
		{"--state failed", "2 1"},
		{"--state failed --state running", "600000 2 1"},
		{"--by anna", "300000 1"},
		{"--by sensor*", "600000 2"},
		{"--since 1d", "600000"},
		{"--since 2026-01-02", "600000 300000 2"},
		{"--until 2026-01-03 --state failed", "2 1"},
		{"--since 2026-01-02 --until 2026-01-03", "2"},
		{"import-a --by anna --state failed", ""},
	} {
		if got := s.found(strings.Fields(c.flags)...); got != c.want {
			t.Errorf("runs %s: %q, want %q", c.flags, got, c.want)
		}
	}
	has(t, s.ok("workflow", "runs", "-n", "1"), "RUN", "600000", "Import-b", "running", "sensor every")
	s.fails(cli.ExitUsage, `no run is ever "done"`, "workflow", "runs", "--state", "done")
	s.fails(cli.ExitUsage, "neither a time nor so long ago", "workflow", "runs", "--since", "yesterday")
}

// many are workflows of several kinds, of which each step would be done by sh.
func (s *harness) many() {
	s.t.Helper()
	s.sql(`select bellhop.workflow_apply(jsonb_build_object('workflow', n, 'project', p, 'sensor', k, 'active', a,
			'parameters', '{"DAY":"x"}'::jsonb, 'steps', '[{"name":"one","type":"sh"}]'::jsonb))
		from (values ('Import-a', 'demo', '{"cron":"0 2 * * *"}'::jsonb, true), ('import-b', 'demo', '{"cron":"0 2 * * *"}', false),
			('import-c', 'demo', null, true), ('other', null, '{"every":"1h"}', true)) v (n, p, k, a)`)
}

func TestWorkflow_LsFilters(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.many()
	for _, c := range []struct{ flags, want string }{
		{"", "Import-a import-b import-c other"},
		{"IMPORT-*", "Import-a import-b import-c"},
		{"--active", "Import-a import-c other"},
		{"--inactive", "import-b"},
		{"--sensor cron", "Import-a import-b"},
		{"--sensor cron --active import-*", "Import-a"},
		{"--sensor none", "import-c"},
		{"--sensor kafka", ""},
	} {
		var names []string
		for _, w := range objects(t, s.ok(append([]string{"workflow", "ls", "-o", "json"}, strings.Fields(c.flags)...)...)) {
			names = append(names, fmt.Sprint(w["name"]))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("ls %s: %q, want %q", c.flags, got, c.want)
		}
	}
	s.fails(cli.ExitUsage, "exclude each other", "workflow", "ls", "--active", "--inactive")
	s.fails(cli.ExitUsage, `no sensor "clock"`, "workflow", "ls", "--sensor", "clock")
	// What changes something takes names as they are written.
	s.fails(cli.ExitNotFound, "there is no workflow IMPORT-*", "workflow", "delete", "IMPORT-*")
}

func TestWorkflow_Projects(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.many()
	s.sql(`insert into bellhop.run (workflow, version, triggered_by, state, ended_at) values ('Import-a', 1, 'me', 'failed', now()),
		('import-b', 1, 'me', 'failed', now()), ('other', 1, 'me', 'failed', now() - interval '2 days'), ('gone', 1, 'me', 'failed', now()),
		('import-c', 1, 'me', 'running', null), ('import-c', 1, 'me', 'queued', null)`)
	has(t, s.ok("workflow", "projects"), "PROJECT", "demo")
	list := objects(t, s.ok("workflow", "projects", "-o", "json"))
	if got := fmt.Sprint(list); got != "[map[active:1 failed:0 project: queued:0 running:0 workflows:1] "+
		"map[active:2 failed:2 project:demo queued:1 running:1 workflows:3]]" {
		t.Error(got)
	}
}

// A pattern starts a run of each that is active: of all, or of none.
func TestWorkflow_RunByPattern(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.many()
	s.sql(`select bellhop.workflow_apply('{"workflow":"import-d","steps":[{"name":"one","type":"sh"}]}')`)
	if out := s.ok("workflow", "run", "import-*", "--dry-run"); out != "import-c would run\nimport-d would run\n" {
		t.Error(out)
	}
	s.fails(cli.ExitUsage, "import-d has no parameter DAY", "workflow", "run", "import-*", "--param", "DAY=y")
	s.fails(cli.ExitNotFound, "no workflow nothing-*", "workflow", "run", "import-*", "nothing-*")
	s.fails(cli.ExitState, "no workflow import-b* is active", "workflow", "run", "import-b*")
	if got := s.found(); got != "" {
		t.Errorf("runs %s were started all the same", got)
	}
	r := s.run("workflow", "run", "import-*")
	if len(strings.Fields(r.stdout)) != 2 {
		t.Errorf("%+v", r)
	}
	has(t, r.stderr, "import-c: run", "import-d: run", "import-b is not active")
	s.ok("workflow", "run", "import-b")
	if got := s.found("import-*"); len(strings.Fields(got)) != 3 {
		t.Errorf("runs %s", got)
	}
}

// Only what was skipped runs again, not what began and found nothing to do; and where more is left than one command
// runs, it says so.
func TestWorkflow_RunSkipped(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`select bellhop.workflow_apply('{"workflow":"w","sensor":{"http":true},"steps":[{"name":"one","type":"sh"}]}')`)
	was := func(first, last int, lastJob any) {
		s.sql(`with run as (insert into bellhop.run (workflow, version, event, triggered_by, state, ended_at, last)
			select 'w', 1, 'http=' || g, 'sensor http', 'skipped', now(), $3::bigint from generate_series($1::int, $2) g returning *)
			insert into bellhop.event (workflow, event, at, run)
			select workflow, event, timestamptz '2026-01-01' + make_interval(secs => substr(event, 6)::int), id from run`, first, last, lastJob)
	}
	was(1, 2, 77)
	s.fails(cli.ExitState, "no event of workflow w was skipped", "workflow", "run", "w", "--skipped")
	was(3, 4, nil)
	if out := s.ok("workflow", "run", "w", "--skipped", "--dry-run"); out != "w would run of event http=3\nw would run of event http=4\n" {
		t.Error(out)
	}
	r := s.run("workflow", "run", "w", "--skipped")
	if len(strings.Fields(r.stdout)) != 2 || strings.Contains(r.stderr, "left") {
		t.Errorf("%+v", r)
	}
	s.fails(cli.ExitState, "no event of workflow w was skipped", "workflow", "run", "w", "--skipped")
	for last, more := range map[int]bool{1004: false, 1005: true} {
		s.sql("delete from bellhop.event where at > '2026-01-01 00:00:04'")
		was(5, last, nil)
		r := s.run("workflow", "run", "w", "--skipped", "--dry-run")
		said := strings.Contains(r.stderr, "the 1000 oldest skipped events, and more are left: bellhop workflow run w --skipped")
		if n := strings.Count(r.stdout, "\n"); n != 1000 || said != more || !strings.HasPrefix(r.stdout, "w would run of event http=5\n") {
			t.Errorf("up to %d: %d lines, and %q", last, n, r.stderr)
		}
	}
}
