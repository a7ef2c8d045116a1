package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/pgdev/pgtest"
)

func TestMigrate_PlansThenDoesThenHasNothingToDo(t *testing.T) {
	t.Parallel()
	s := &harness{t: t, url: pgtest.URL(t)}
	has(t, s.ok("migrate", "--plan"), "-- 0048_baseline", "create table bellhop.jobqueue", "-- ring.sql",
		"-- To go back: install the older binary")
	s.fails(cli.ExitSchema, "bellhop migrate", "ls") // the plan changed nothing
	has(t, s.ok("migrate"), "done: 0048_baseline", "done: ring.sql")
	has(t, s.ok("migrate"), "nothing to do")
	has(t, s.ok("migrate", "--plan"), "nothing to do")
	if out := s.ok("migrate", "-o", "json"); out != "[]\n" {
		t.Errorf("JSON: %s", out)
	}
	s.fails(cli.ExitUsage, "takes no argument", "migrate", "up")
}

func TestConfigCheck_TellsAllProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	clitest.Write(t, good, "hosts:\n  - {name: local, slots: 4}\nagents:\n  - {type: a, command: [./a]}\n  - {type: b, command: [./b]}\n")
	clitest.Write(t, bad, "hosst: []\nagents:\n  - {type: a, command: 7}\n")
	if r := command("config", "check", "-c", good); r.code != 0 || r.stdout != "ok: 2 agents, 1 host\n" {
		t.Errorf("good: %+v", r)
	}
	if r := command("config", "check", "-c", good, "-o", "json"); r.code != 0 ||
		!strings.Contains(r.stdout, `"agents": 2`) {
		t.Errorf("JSON: %+v", r)
	}
	if r := command("config", "check", "-c", bad); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "hosst") ||
		!strings.Contains(r.stderr, "command") {
		t.Errorf("bad: %+v", r)
	}
	if r := command("config", "check", "-c", filepath.Join(dir, "none.yaml")); r.code != cli.ExitUsage ||
		!strings.Contains(r.stderr, "none.yaml") {
		t.Errorf("none: %+v", r)
	}
}

func TestVersion_NamesTheSchema(t *testing.T) {
	t.Parallel()
	if r := command("version"); r.code != 0 || !strings.Contains(r.stdout, "schema ") {
		t.Errorf("got %+v", r)
	}
	var v struct {
		Version string
		Schema  int
	}
	if err := json.Unmarshal([]byte(command("version", "-o", "json").stdout), &v); err != nil || v.Version == "" ||
		v.Schema < 4 {
		t.Errorf("got %+v, %v", v, err)
	}
	if r := command("--version"); r.code != 0 || !strings.HasPrefix(r.stdout, "bellhop ") {
		t.Errorf("got %+v", r)
	}
}

func TestHelp_OfEveryCommandBeginsWithAnExample(t *testing.T) {
	t.Parallel()
	a := &cli.App{Getenv: func(string) string { return "" }}
	seen := 0
	for _, c := range newRoot(a).Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		seen++
		r := command(c.Name(), "--help")
		if r.code != 0 || !strings.HasPrefix(r.stdout, "Example:\n  bellhop "+c.Name()) {
			t.Errorf("%s: %+v", c.Name(), r)
		}
	}
	if seen < 17 {
		t.Errorf("only %d commands", seen)
	}
	if r := command("completion", "bash"); r.code != 0 || !strings.Contains(r.stdout, "bash completion") {
		t.Errorf("completion: %d", r.code)
	}
}
