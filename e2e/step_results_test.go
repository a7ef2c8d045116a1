package e2e

import (
	"path/filepath"
	"strconv"
	"testing"
)

// TestWorkflows_AStepTakesTheResultOfAnother: what one step prints is in the args and vars of a later one. A field that
// is not there fails the step, and the error names it. A step that takes from one that it does not need is refused.
func TestWorkflows_AStepTakesTheResultOfAnother(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec, stdout: result, vars: [N]"))
	e.file("w.yaml", `workflow: w
steps:
  - {name: fetch, type: sh, args: 'echo "{\"path\": \"/srv/a\", \"n\": 3}"'}
  - {name: pause, type: sh, args: "true"}
  - {name: convert, type: sh, args: 'echo ${steps.fetch.result.path} $N', vars: {N: "${steps.fetch.result.n}"}}
---
workflow: v
steps:
  - {name: fetch, type: sh, args: 'echo "{\"path\": \"/srv/a\"}"'}
  - {name: convert, type: sh, args: 'echo ${steps.fetch.result.size}'}
`, 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	e.ok("workflow", "run", "w", "--wait")
	if got := value[string](e, "select result #>> '{}' from bellhop.jobqueue where step = 'convert'"); got != "/srv/a 3" {
		t.Errorf("the last step says %q", got)
	}
	e.run("workflow", "run", "v", "--wait")
	id := value[int64](e, "select max(id) from bellhop.jobqueue where step = 'convert'")
	e.because(id, "step_result", "the result of step fetch", "has nothing under size")
	has(t, e.ok("show", strconv.FormatInt(id, 10)), "failed", "the result of step fetch", "has nothing under size")
	e.file("x.yaml", "workflow: x\nsteps: [{name: a, type: sh, args: x, after: []}, {name: b, type: sh, args: '${steps.a.result}'}]", 0o600)
	bad := e.run("workflow", "apply", filepath.Join(e.dir, "x.yaml"))
	has(t, bad.stderr, `x.yaml:2:`, `step "b" takes the result of "a", and does not need it; name "a" in after`)
}
