package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// Who saw another version than there is changes nothing, is told which there is, and what to look at.
func TestWorkflow_EditsOfTheVersionThatWasSeen(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	dir := s.files(map[string]string{"1.yaml": nightly, "2.yaml": strings.Replace(nightly, "0 2 ", "30 3 ", 1)})
	s.ok("workflow", "apply", filepath.Join(dir, "1.yaml"))
	s.ok("workflow", "apply", filepath.Join(dir, "2.yaml"))
	for _, edit := range []string{"deactivate nightly", "activate nightly", "delete nightly", "revert nightly 1"} {
		r := s.fails(cli.ExitState, "workflow nightly has version 2, not 1",
			append([]string{"workflow"}, append(strings.Fields(edit), "--version", "1")...)...)
		has(t, r.stderr, "bellhop workflow history nightly")
	}
	if out := s.ok("workflow", "ls", "-o", "json"); !strings.Contains(out, `"version": 2`) || !strings.Contains(out, `"active": true`) {
		t.Errorf("something was changed: %s", out)
	}
	if out := s.ok("workflow", "deactivate", "nightly", "--version", "2"); out != "nightly deactivated\n" {
		t.Error(out)
	}
	if out := s.ok("workflow", "revert", "nightly", "1", "--version", "3"); out != "nightly changed (version 4)\n" {
		t.Error(out)
	}
	s.fails(cli.ExitUsage, "--version ", "workflow", "activate", "n*", "--version", "4")
	if out := s.ok("workflow", "delete", "nightly", "--version", "4"); out != "nightly deleted\n" {
		t.Error(out)
	}
	s.fails(cli.ExitState, "there is no workflow nightly", "workflow", "revert", "nightly", "1", "--version", "4")
	if out := s.ok("workflow", "revert", "nightly", "1", "--version", "0"); out != "nightly created (version 6)\n" {
		t.Error(out)
	}
}

// What a pattern means is deleted, and no other: neither a name that only begins alike, nor one in other letters.
func TestWorkflow_DeleteByPattern(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	var all []string
	for _, name := range []string{"import-a", "import-b", "import", "Import-c", "important", "re-import-d"} {
		all = append(all, "workflow: "+name+"\nsteps: [{name: x, type: t}]\n")
	}
	folder := s.files(map[string]string{"all.yaml": strings.Join(all, "---\n")})
	s.ok("workflow", "apply", filepath.Join(folder, "all.yaml"))
	if out := s.ok("workflow", "delete", "import-*"); out != "import-a deleted\nimport-b deleted\n" {
		t.Error(out)
	}
	s.sql("select 1 / (count(*) = 4)::int from bellhop.workflow where name in ('import', 'Import-c', 'important', 're-import-d')")
	s.sql("select 1 / (count(*) = 4)::int from bellhop.workflow")
}

// Who applies a step that nobody would run hears it, of a dry run, too; where no instance runs,
// who is to come is not known.
func TestWorkflow_ApplyWarnsOfTypesThatNobodyServes(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	file := filepath.Join(s.files(map[string]string{"nightly.yaml": nightly}), "nightly.yaml")
	if r := s.run("workflow", "apply", file, "--dry-run"); r.stderr != "" {
		t.Errorf("nobody runs, and it says %s", r.stderr)
	}
	s.sql(`with i as (insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
	         values ('one', 'x', 'x', 1, '', 'x', '1 h') returning id)
	       insert into bellhop.agent (instance, type, mode, dialect, command, max, max_per_host) select id, 'sh', 'exec', 'classic', 'sh', 1, 1 from i`)
	for _, flag := range []string{"--dry-run", "--prune"} {
		r := s.run("workflow", "apply", file, flag)
		has(t, r.stderr, "warning: nightly: Step convert is of type 'convert', of which no running instance has an agent. There are: sh.",
			"add it under agents in bellhop.yaml, then: bellhop reload")
		if r.code != 0 || strings.Contains(r.stderr, "fetch") {
			t.Errorf("%+v", r)
		}
	}
	has(t, s.ok("workflow", "explain", "nightly"), "unknown_type", "Step convert is of type 'convert'")
}
