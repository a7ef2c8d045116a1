package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestShareTemplates_GiveJobsOfAnyProgramAShare: bellhop.yaml names it, and a plain INSERT, submit and a workflow's
// step get it. A job's own share wins; after a reload another template holds, and also while no instance runs.
func TestShareTemplates_GiveJobsOfAnyProgramAShare(t *testing.T) {
	t.Parallel()
	e := setup(t)
	yaml := "hosts:\n  - {name: local, slots: 1}\n" + agents(
		`type: pause, command: [sleep], mode: exec, vars: [CUSTOMER], share: "c-${vars.CUSTOMER}"`)
	i := e.serve(yaml)
	const customer = `{"CUSTOMER": "1"}`
	hog := e.insert("type, args, vars", "pause", "600", customer)
	e.waitState(hog, "running")
	share := func(id int64, want string) {
		t.Helper()
		if got := value[string](e, "select coalesce(share, 'none') from bellhop.jobqueue where id = $1", id); got != want {
			t.Errorf("job %d has share %s, want %s", id, got, want)
		}
	}
	share(hog, "c-1")
	share(idOf(t, strings.TrimSpace(e.ok("submit", "pause", "600", "--var", "CUSTOMER=2"))), "c-2")
	share(idOf(t, strings.TrimSpace(e.ok("submit", "pause", "600", "--var", "CUSTOMER=2", "--share", "own"))), "own")
	share(e.insert("type, args", "pause", "600"), "none")
	e.ok("workflow", "apply", e.file("w.yaml", `workflow: w
parameters: {WHO: "3"}
steps: [{name: s, type: pause, args: "600", vars: {CUSTOMER: "${WHO}"}}]`, 0o600))
	e.ok("workflow", "run", "w")
	share(value[int64](e, "select max(id) from bellhop.jobqueue where step = 's'"), "c-3")
	last := e.insert("type, args, vars", "pause", "600", customer)

	other := e.rewritten(i, yaml, strings.Replace(yaml, `"c-$`, `"d-$`, 1))
	if err := os.WriteFile(i.config, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, e.ok("reload"), "agents changed: pause")
	e.eventually("the new template is told", "select template = 'd-${vars.CUSTOMER}' from bellhop.share_template where type = 'pause'")
	share(e.insert("type, args, vars", "pause", "600", customer), "d-1")
	share(last, "c-1")
	i.stop()
	share(e.insert("type, args, vars", "pause", "600", customer), "d-1")
}
