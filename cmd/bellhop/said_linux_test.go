package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
)

// A file of -c that is not there is told, wherever the database is named.
func TestConfig_AFileThatIsNamedHasToBeThere(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	none := filepath.Join(t.TempDir(), "nosuch.yaml")
	for _, words := range [][]string{{"ls"}, {"submit", "a"}, {"hosts"}, {"stats"}} {
		s.fails(cli.ExitUsage, "nosuch.yaml", append([]string{"-c", none}, words...)...)
	}
}

// Where no job was found, ls says what it has looked for.
func TestLs_SaysWhatItHasLookedFor(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.over(s.id("a"), "failed", 1)
	for line, says := range map[string]string{
		"ls -t nosuch":                   "no job of type nosuch is unfinished or failed",
		"ls -t nosuch -t b -s running":   "no job of type nosuch or b is running",
		"ls -s quarantined -s cancelled": "no job is quarantined or cancelled",
	} {
		if r := s.run(strings.Fields(line)...); r.code != 0 || !strings.Contains(r.stderr, says) {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := s.run("ls"); strings.Contains(r.stderr, "no job") || !strings.Contains(r.stdout, "failed") {
		t.Errorf("%+v", r)
	}
}

// A type that nobody serves is told on stderr; the id alone is on stdout, and -q is silent.
func TestSubmit_WarnsOfATypeThatNobodyServes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	if r := s.run("submit", "nosuch"); r.code != 0 || r.stdout != "1\n" ||
		!strings.Contains(r.stderr, "no running instance has an agent of type nosuch") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	if r := s.run("submit", "nosuch", "-q"); r.code != 0 || r.stdout != "2\n" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
}

// On a terminal prune asks before it deletes, where nothing says what it is to delete.
func TestPrune_AsksOnATerminal(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	prune := func(answer string, words ...string) (int, string) {
		screen, program := clitest.Terminal(t, 100)
		if _, err := screen.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		code := run(append([]string{"--database-url", s.url, "prune"}, words...), program, program, &stderr)
		return code, stderr.String()
	}
	old := func() {
		id := s.id("a")
		s.over(id, "succeeded", 0)
		s.sql("update bellhop.jobqueue set ended_at = ended_at - interval '4 days'")
	}
	left := func() string {
		list, err := collectText(t, s.conn, "select id::text from bellhop.jobqueue")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(list, " ")
	}
	old()
	code, said := prune("n\n")
	if code != cli.ExitState || left() != "1" || !strings.Contains(said, "nothing was deleted") {
		t.Errorf("no: exit code %d, jobs %q: %s", code, left(), said)
	}
	if code, said := prune("y\n"); code != 0 || left() != "" || !strings.Contains(said, "[y/N]") {
		t.Errorf("yes: exit code %d, jobs %q: %s", code, left(), said)
	}
	for _, words := range [][]string{{"--yes"}, {"--older-than", "3d"}} {
		old()
		if code, said := prune("", words...); code != 0 || left() != "" || strings.Contains(said, "[y/N]") {
			t.Errorf("%q: exit code %d, jobs %q: %s", words, code, left(), said)
		}
	}
}

// What no running instance could do is told on one line: an unknown host, and a variable that no agent takes.
func TestSubmit_WarnsOfAHostAndOfAVariableThatNoneHas(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('here', 'here', 'm', 1, 's', 'v', '30s')`)
	s.sql(`insert into bellhop.host (instance, name, slots, serves, locates) select id, 'big1', 4, '{data-*}', false from bellhop.instance`)
	s.sql(`insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host, vars)
		select id, 'sum', 'exec', '', 'sum', 0, 0, '{YEAR,LC_*}' from bellhop.instance`)
	for _, c := range []struct{ args, says string }{
		{"--run-on big1", ""},
		{"--run-on data-7", ""},
		{"--run-on big2", "no host of a running instance has the name big2 or serves it"},
		{"--var YEAR=2026 --var LC_ALL=C", ""},
		{"--var YEAR=2026 --var MONTH=1", "no agent of type sum takes the var MONTH"},
		{"--run-on big2 -q", ""},
	} {
		r := s.run(append([]string{"submit", "sum"}, strings.Fields(c.args)...)...)
		lines := strings.Count(r.stderr, "\n")
		if r.code != 0 || r.stdout == "" || !strings.Contains(r.stderr, c.says) || lines != min(1, len(c.says)) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
	s.sql("update bellhop.host set locates = true")
	if r := s.run("submit", "sum", "--run-on", "big2"); r.stderr != "" {
		t.Errorf("where keys are looked up: %+v", r)
	}
}
