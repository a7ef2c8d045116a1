package bellhop_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A publisher types one line, and every package has its new path.
func TestRename_GivesTheModuleAnotherPath(t *testing.T) {
	t.Parallel()
	copied := t.TempDir()
	for _, line := range []string{
		`git ls-files -z | xargs -0 cp --parents -t "$COPY"`,
		`cd "$COPY" && git init -q && git add -A && make -s rename MODULE=example.org/some.one/bellhop`,
		`cd "$COPY" && go list -deps ./... >/dev/null && go build ./client/agent ./scheduler/... ./machine`,
	} {
		c := exec.CommandContext(t.Context(), "sh", "-ec", line)
		c.Env = append(c.Environ(), "COPY="+copied)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	list := exec.CommandContext(t.Context(), "go", "list", "./cmd/bellhop", "./client")
	list.Dir = copied
	out, err := list.Output()
	want := "example.org/some.one/bellhop/cmd/bellhop\nexample.org/some.one/bellhop/client\n"
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	const old = `^module bellhop|^\s*"bellhop/`
	left := exec.CommandContext(t.Context(), "git", "grep", "-nE", old, "--", "*.go", "*go.mod")
	left.Dir = copied
	if out, err := left.Output(); err == nil {
		t.Errorf("left as they were:\n%s", strings.Join(strings.SplitN(string(out), "\n", 9), "\n"))
	}
	bad := exec.CommandContext(t.Context(), filepath.Join(copied, "scripts/rename"), "no path;")
	if out, err := bad.CombinedOutput(); err == nil || !strings.Contains(string(out), "next: make rename MODULE=") {
		t.Errorf("a path that is none: %s, %v", out, err)
	}
}
