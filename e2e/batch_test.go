package e2e

import (
	"strings"
	"testing"
)

// TestBatch_Typed: a group of jobs, and one that runs when all are over, as docs/graphs.md has it typed.
func TestBatch_Typed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
	id := strings.TrimSpace(e.ok("batch", "begin", "sh", "cat "+e.dir+"/said", "--key", "import.8"))
	if again := strings.TrimSpace(e.ok("batch", "begin", "sh", "cat "+e.dir+"/said", "--key", "import.8")); again != id {
		t.Errorf("it is batch %s, then %s", id, again)
	}
	bad := strings.TrimSpace(e.ok("submit", "sh", "exit 2", "--batch", "import.8"))
	e.ok("submit", "sh", "echo a >>"+e.dir+"/said", "--batch", id)
	e.ok("release", "import.8")
	e.ok("wait", "import.8")
	has(t, e.ok("logs", id), "a\n")
	has(t, e.ok("batch", "count", "import.8", "-o", "json"), `"id": `+id, `"jobs": 2`, `"succeeded": 1`, `"failed": 1`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"submit", "sh", "true", "--batch", id}, 7, "too late"},
		{[]string{"submit", "sh", "true", "--batch", "nowhere"}, 3, "not found"},
		{[]string{"batch", "count", "nowhere"}, 3, "not found"},
		{[]string{"batch", "begin", "--on-failure", "cry"}, 2, "run, fail or block"},
	} {
		r := e.run(c.args...)
		if r.code != c.code {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, r.code, c.code, r.stderr)
		}
		has(t, r.stderr, c.says)
	}
	has(t, e.ok("graph", "import.8"), "failed", bad)
}
