package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor_SeesHowJobsGo: types that fail, types that wait for an agent that
// nobody has, and rows that can go; each with the line that mends it.
func TestDoctor_SeesHowJobsGo(t *testing.T) {
	t.Parallel()
	s := setup(t)
	says := func() string { return s.run("doctor", "--finished", "100", "--data-dir", t.TempDir()).stdout }
	before := says()
	has(t, before, "no type fails", "0 rows of jobs that were over three days ago")
	s.sql(`insert into bellhop.jobqueue (type, state, waiting_for) values ('nobody''s', 'ready', 'unknown_type')`)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select 'bad', 'failed', 1, 1, now(), now(), 1 from generate_series(1, 3)`)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select 'good', case when n < 3 then 'failed' else 'succeeded' end, 1, 1, now(), now(), 0 from generate_series(1, 9) n`)
	s.sql(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code)
		select 'good', 'succeeded', 1, 1, now() - interval '9 d', now() - interval '9 d', 0 from generate_series(1, 100)`)
	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag) values ('x', 'x', 'x', 1, '', 'x', '1 h')`)
	s.sql(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, trouble)
		select id, 'sick', 'warm', 'auto', 'cat', 1, 1, '{"local": "it never said OK"}' from bellhop.instance`)
	after := says()
	has(t, after, "1 job waits that is of type nobody's, which no instance serves", `bellhop ls -s ready -t 'nobody'\''s'`,
		"of the jobs of bad that ended in the last hour, 3 failed and 0 succeeded", "bellhop ls -s failed -t bad   #",
		"agents of sick do not come up", "it never said OK", "bellhop config check --spawn",
		"100 rows of jobs that were over three days ago", "finished jobs: bellhop prune --older-than 3d")
	if strings.Contains(after, "jobs of good") || strings.Contains(after, "no type fails") {
		t.Errorf("too much:\n%s", after)
	}
	s.ok("prune", "--older-than", "3d")
	has(t, says(), "0 rows of jobs that were over three days ago")
}

// TestDoctor_FindsTheConfigurationOfServe, however that was named.
func TestDoctor_FindsTheConfigurationOfServe(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"":                {"bellhop", "ls", "-c", "/x.yaml"},
		"/w/bellhop.yaml": {"bellhop", "serve"},
		"/x.yaml":         {"bellhop", "serve", "-c", "/x.yaml"},
		"/w/x.yaml":       {"bellhop", "-c", "x.yaml", "serve", "--listen", "0.0.0.0:8470"},
		"/y.yaml":         {"bellhop", "serve", "--config=/y.yaml"},
		"/z.yaml":         {"bellhop", "serve", "-c/z.yaml"},
	} {
		if got := servedConfig(args, nil, "/w"); got != want {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
	if got := servedConfig([]string{"bellhop", "serve"}, []string{"A=b", "BELLHOP_CONFIG=/e.yaml"}, "/w"); got != "/e.yaml" {
		t.Errorf("by the environment: %q", got)
	}
	if got := servedConfig([]string{"bellhop", "serve", "-c", "/x.yaml"}, []string{"BELLHOP_CONFIG=/e.yaml"}, "/w"); got != "/x.yaml" {
		t.Errorf("-c wins: %q", got)
	}
}

// TestConfig_IsNamedByTheEnvironment: for every command, as -c does.
func TestConfig_IsNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{getenv: func(name string) string { return map[string]string{configVariable: file}[name] }}
	if c, err := a.loadConfig(); err != nil || c.Listen != "127.0.0.1:1" {
		t.Errorf("%+v, %v", c.Listen, err)
	}
	a.getenv = func(string) string { return file + ".not" }
	if _, err := a.configFile(); err == nil || explainFailure(err).code != exitUsage {
		t.Errorf("a file that is not there: %v", err)
	}
}
