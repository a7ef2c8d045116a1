package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script of docs/graphs.md is run as it stands there, and does what is said of it.
func TestGraphsDoc_TheScriptWorks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("SKIPPED: no psql here, so the script of docs/graphs.md is not run; install postgresql-client")
	}
	page, err := os.ReadFile("../docs/graphs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, worked, _ := strings.Cut(string(page), "## Worked through")
	_, script, _ := strings.Cut(worked, "```sh\n")
	script, rest, _ := strings.Cut(script, "```")
	_, want, _ := strings.Cut(rest, "```\n")
	want, _, _ = strings.Cut(want, "```")
	e := setup(t)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
	cmd.Dir = e.dir
	cmd.Env = append(environment(e.dir), "DATABASE_URL="+e.url, "DIR="+e.dir)
	cmd.Env[0] = "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, string(out), "parcel for 8761230871234", want)
	if _, err := os.Stat(filepath.Join(e.dir, "invoice")); err == nil {
		t.Error("the clean-up did not run")
	}
}
