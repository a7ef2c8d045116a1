package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// files writes files into a folder of the test's own.
func (s *harness) files(texts map[string]string) (dir string) {
	s.t.Helper()
	dir = s.t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

const nightly = `workflow: nightly
project: demo
sensor: {cron: "0 2 * * *", zone: Europe/Prague, catch_up: one}
parameters: {DAY: today}
steps:
  - {name: fetch, type: sh, args: "fetch ${DAY}"}
  - {name: convert, type: convert, after: [fetch]}
`

func TestWorkflow_ApplyIsOneTransactionAndSaysWhatItDid(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	dir := s.files(map[string]string{
		"nightly.yaml": nightly, "changed.yaml": strings.Replace(nightly, "0 2 ", "30 3 ", 1) + "notify: [{when: [failed], mail: [a@b]}]\n",
		"more.yaml": "workflow: a\nproject: demo\nsteps: [{name: x, type: t}]\n---\nworkflow: b\nproject: other\nsteps: [{name: x, type: t}]\n",
		"bad.yaml":  "workflow: c\nsteps: [{name: x, type: t, after: [y]}]\nsteps2: 7\n",
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	r := s.fails(cli.ExitUsage, `bad.yaml:2:36: there is no step "y"`, "workflow", "apply", file("nightly.yaml"), file("bad.yaml"), file("none.yaml"))
	has(t, r.stderr, `bad.yaml:3:1: unknown key "steps2"`, "none.yaml: no such file")
	if out := s.ok("workflow", "ls", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("something was written: %s", out)
	}
	has(t, s.ok("workflow", "apply", file("nightly.yaml"), "--dry-run"), "nightly would be created", "+workflow: nightly")
	if out := s.ok("workflow", "apply", file("nightly.yaml"), file("more.yaml")); out != "nightly created (version 1)\na created (version 1)\nb created (version 1)\n" {
		t.Error(out)
	}
	if out := s.ok("workflow", "apply", file("nightly.yaml")); out != "nightly unchanged (version 1)\n" {
		t.Error(out)
	}
	has(t, s.ok("workflow", "apply", file("changed.yaml"), "--dry-run"), "nightly would be changed\n",
		"-  cron: 0 2 * * *", "+  cron: 30 3 * * *")
	s.fails(cli.ExitState, "has version 1, not 7", "workflow", "apply", file("changed.yaml"), "--version", "7")
	r = s.run("workflow", "apply", file("changed.yaml"), "--prune")
	if r.stdout != "nightly changed (version 2)\na deleted\n" || r.stderr != "" { // whoever could send mail may come yet
		t.Errorf("%+v", r)
	}
	has(t, s.ok("workflow", "ls"), "nightly", "demo", "yes", "cron", "b ")
	has(t, s.ok("workflow", "ls", "--type", "convert"), "nightly")
	if out := s.ok("workflow", "ls", "n?ghtl*", "--project", "none", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Error(out)
	}
}

func TestWorkflow_HistoryDiffRevertExportImport(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	dir := s.files(map[string]string{"1.yaml": nightly, "2.yaml": strings.Replace(nightly, "0 2 ", "30 3 ", 1)})
	s.ok("workflow", "apply", filepath.Join(dir, "1.yaml"))
	s.ok("workflow", "apply", filepath.Join(dir, "2.yaml"))
	has(t, s.ok("workflow", "diff", "nightly"), "-  cron: 0 2 * * *", "+  cron: 30 3 * * *")
	if out := s.ok("workflow", "revert", "nightly", "1"); out != "nightly changed (version 3)\n" {
		t.Error(out)
	}
	if out := s.ok("workflow", "diff", "nightly", "1", "3"); out != "they are the same\n" {
		t.Error(out)
	}
	if out := s.ok("workflow", "deactivate", "nightly", "night*"); out != "nightly deactivated\nnightly is deactivated already\n" {
		t.Error(out)
	}
	exported := s.ok("workflow", "export")
	has(t, exported, "workflow: nightly", "active: false")
	s.fails(cli.ExitState, "there is a workflow nightly already", "workflow", "import", filepath.Join(dir, "1.yaml"))
	s.ok("workflow", "delete", "nightly")
	s.fails(cli.ExitNotFound, "no workflow nightly", "workflow", "show", "nightly")
	file := filepath.Join(s.files(map[string]string{"all.yaml": exported}), "all.yaml")
	if out := s.ok("workflow", "import", file); out != "nightly created (version 6)\n" {
		t.Error(out)
	}
	if again := s.ok("workflow", "export", "nightly"); again != exported {
		t.Errorf("%s, want\n%s", again, exported)
	}
	out := s.ok("workflow", "history", "nightly")
	has(t, out, "1  ", "created", "changed", "deactivated", "deleted")
	s.fails(cli.ExitNotFound, "has no version 9", "workflow", "revert", "nightly", "9")
	s.fails(cli.ExitNotFound, "there is no workflow x", "workflow", "activate", "x")
}

func TestWorkflow_RunShowRetry(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("workflow", "apply", filepath.Join(s.files(map[string]string{"n.yaml": nightly}), "n.yaml"))
	if id := s.ok("workflow", "run", "nightly", "--param", "DAY=monday"); id != "1\n" {
		t.Fatal(id)
	}
	has(t, s.ok("ls"), "sh", "convert")
	has(t, s.ok("workflow", "show", "nightly"), "# version 1", "cron: 0 2 * * *", "no instance has looked", "running")
	s.sql("update bellhop.jobqueue set state = 'failed', attempt = 1, fence = 1, started_at = now(), ended_at = now(), " +
		"error = 'no such day: ' || repeat('x', 1000) where step = 'fetch'")
	s.sql("select bellhop.ended(array(select id from bellhop.jobqueue where step = 'fetch'))")
	out := s.ok("workflow", "show", "--run", "1")
	has(t, out, "failed", "step fetch failed", "FailedPreviousJob", "ERROR", "no such day: xxx")
	if strings.Contains(out, strings.Repeat("x", 400)) {
		t.Errorf("a megabyte of an error would be written:\n%s", out)
	}
	if out := s.ok("workflow", "show", "--run", "1", "-o", "json"); !strings.Contains(out, strings.Repeat("x", 1000)) {
		t.Errorf("JSON has not all of the error:\n%s", out)
	}
	if out := s.ok("workflow", "retry", "1"); out != "run 1 goes on: 2 steps tried again\n" {
		t.Error(out)
	}
	if id := s.ok("workflow", "run", "nightly", "--from", "convert"); id != "2\n" {
		t.Error(id)
	}
	has(t, s.ok("workflow", "show", "--run", "2"), "queued", "InQueue", "convert")
}

func TestWorkflow_Refusals(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("workflow", "apply", filepath.Join(s.files(map[string]string{"n.yaml": nightly}), "n.yaml"))
	s.fails(cli.ExitNotFound, "there is no workflow x", "workflow", "run", "x")
	s.fails(cli.ExitUsage, "no parameter DAX", "workflow", "run", "nightly", "--param", "DAX=1")
	s.fails(cli.ExitUsage, "is not of the form NAME=VALUE", "workflow", "run", "nightly", "--param", "DAX")
	s.fails(cli.ExitUsage, `no step "x"`, "workflow", "run", "nightly", "--from", "x")
	s.fails(cli.ExitNotFound, "no run 9", "workflow", "retry", "9")
	s.fails(cli.ExitUsage, `"x" is not a valid id of a run`, "workflow", "retry", "x")
	s.ok("workflow", "run", "nightly")
	s.fails(cli.ExitState, "run 1 is running", "workflow", "retry", "1")
	s.fails(cli.ExitState, "a run that is not over", "workflow", "delete", "nightly")
}

func TestCronExplain(t *testing.T) {
	t.Parallel()
	r := command("cron", "explain", "30 2 * * *", "--zone", "Europe/Prague", "--from", "2026-10-24T12:00:00Z", "-n", "2")
	if want := "at 02:30; every day; Europe/Prague\n  Sun 2026-10-25 02:30:00 CEST  2026-10-25T00:30:00Z\n  Mon 2026-10-26 02:30:00 CET  2026-10-26T01:30:00Z\n"; r.stdout != want {
		t.Errorf("%s, want\n%s", r.stdout, want)
	}
	if r := command("cron", "explain", "61 * * * *"); r.code != cli.ExitUsage || !strings.Contains(r.stderr, `minute "61": it is 0 to 59`) {
		t.Errorf("%+v", r)
	}
}

func TestManager_StopsAndStarts(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		select n, 'h', 'm', 1, '1', 'v', '1 hour' from unnest(array['big1', 'big2']) n`)
	if out := s.ok("manager", "stop", "big1"); out != "1 instance starts workflows now\n" {
		t.Error(out)
	}
	list := objects(t, s.ok("manager", "status", "-o", "json"))
	if len(list) != 2 || list[0]["starts"] != false || list[1]["starts"] != true {
		t.Error(list)
	}
	s.ok("manager", "stop")
	s.fails(cli.ExitState, "all instances are stopped", "manager", "start", "big2")
	if out := s.ok("manager", "start"); out != "2 instances start workflows now\n" {
		t.Error(out)
	}
	s.fails(cli.ExitNotFound, "there is no instance big3", "manager", "stop", "big3")
}

func TestNotify_ListsTheRulesThereAre(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	if out := s.ok("workflow", "notify", "ls", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Error(out)
	}
	ops := strings.TrimSpace(s.ok("workflow", "notify", "add", "--project", "demo", "--prefix", "import-", "--when", "failed,skipped",
		"--mail", "ops@example.org,boss@example.org", "--unless-success-within", "90m"))
	page := strings.TrimSpace(s.ok("workflow", "notify", "add", "--webhook", "https://hooks.example.org/x", "--command", "page"))
	list := s.ok("workflow", "notify", "ls")
	has(t, list, "demo", "import-", "failed, skipped", "1h30m", "ops@example.org, boss@example.org",
		"https://hooks.example.org/x, command page")
	s.ok("workflow", "notify", "edit", ops, "--mail", "night@example.org", "--prefix", "", "--webhook", "https://hooks.example.org/y")
	edited := objects(t, s.ok("workflow", "notify", "ls", "-o", "json"))[0]
	got := fmt.Sprint(edited["project"], edited["prefix"], edited["statuses"], edited["mail"], edited["webhook"],
		edited["unless_success_within"])
	if got != "demo[failed skipped] [night@example.org]https://hooks.example.org/y5.4e+06" {
		t.Errorf("the rule is now %s", got)
	}
	if out := s.ok("workflow", "notify", "edit", ops, "--webhook", "", "--unless-success-within", "0"); out != "rule "+ops+" changed\n" {
		t.Error(out)
	}
	s.fails(cli.ExitUsage, "no change is given", "workflow", "notify", "edit", ops)
	s.fails(cli.ExitUsage, "names no recipient", "workflow", "notify", "edit", ops, "--mail", "")
	s.fails(cli.ExitUsage, `no run ends as "gone"`, "workflow", "notify", "edit", ops, "--when", "gone")
	if out := s.ok("workflow", "notify", "delete", ops); out != "rule "+ops+" deleted\n" {
		t.Error(out)
	}
	left := objects(t, s.ok("workflow", "notify", "ls", "-o", "json"))
	if len(left) != 1 || fmt.Sprint(left[0]["id"]) != page || left[0]["webhook"] != "https://hooks.example.org/x" {
		t.Errorf("after one was deleted there are %v", left)
	}
	s.fails(cli.ExitNotFound, "there is no rule "+ops, "workflow", "notify", "delete", ops)
}
