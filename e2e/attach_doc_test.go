package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// The five lines that docs/attach.md begins with do what it says.
func TestAttachDoc_TheExampleWorks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("the example needs psql: apt-get install postgresql-client")
	}
	page, err := os.ReadFile("../docs/attach.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(page), "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	if n := strings.Count(script, "\n"); n != 5 {
		t.Errorf("the example has %d lines", n)
	}
	e := setup(t)
	e.serve(obeys)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
	cmd.Dir = e.dir
	cmd.Env = append(environment(e.dir), "DATABASE_URL="+e.url)
	cmd.Env[0] = "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, string(out), "row 7 of image", "image", "ok")
	pgtest.Eventually(t, patience, "it has run", func() bool {
		return strings.Contains(e.run("logs", "image/7").stdout, "thumbnail of image 7")
	})
}
