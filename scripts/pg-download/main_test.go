package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bare is a machine without PostgreSQL and without a way to install any: the
// script's own tools, and Go.
func bare(t *testing.T, env ...string) func() (stdout, stderr string, code int) {
	t.Helper()
	tools := t.TempDir()
	for _, name := range []string{"sh", "sed", "id", "dirname", "readlink", "env", "go"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip("NOT TESTED: scripts/need-postgres;", err)
		}
		if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gcc", "cc"} { // so that what go has compiled before is not compiled anew
		if path, err := exec.LookPath(name); err == nil {
			_ = os.Symlink(path, filepath.Join(tools, name))
		}
	}
	programs := filepath.Join(t.TempDir(), "programs")
	return func() (string, string, int) {
		cmd := exec.Command("../need-postgres")
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Env = append(os.Environ(), append([]string{"PATH=" + tools, "BELLHOP_PG_BIN=", "BELLHOP_TEST_DATABASE_URL=",
			"NEED_POSTGRES_PLACES=", "NEED_POSTGRES_PROGRAMS=" + programs}, env...)...)
		_ = cmd.Run() // its exit code tells
		return strings.TrimSpace(stdout.String()), stderr.String(), cmd.ProcessState.ExitCode()
	}
}

// TestNeedPostgres_GivesUp: where a download cannot be had, whether nothing
// answers or something that says nothing, it says so and what to type.
func TestNeedPostgres_GivesUp(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for from, why := range map[string]string{"http://127.0.0.1:1": "cannot be reached",
		"http://" + silent.Addr().String(): "longer than 2s"} {
		stdout, stderr, code := bare(t, "BELLHOP_PG_REPOSITORY="+from, "BELLHOP_PG_DOWNLOAD_LIMIT=2s")()
		if code != 1 || stdout != "" {
			t.Errorf("exit code %d, %q", code, stdout)
		}
		for _, want := range []string{"downloading it to ", why, "Type:", "apt-get install postgresql", "export BELLHOP_PG_BIN=", "export BELLHOP_PG_REPOSITORY="} {
			if !strings.Contains(stderr, want) {
				t.Errorf("no %q in:\n%s", want, stderr)
			}
		}
	}
}

// TestNeedPostgres_Downloads: what it got is used from then on, without asking again.
func TestNeedPostgres_Downloads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		text := "#!/bin/sh\necho '" + name + " (PostgreSQL) 17.5'\n"
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := exec.Command("tar", "-C", dir, "-cJf", "-", "bin").Output()
	if err != nil {
		t.Skip("NOT TESTED: a download; type `apt-get install xz-utils`;", err)
	}
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	f, err := z.Create("postgres-linux.txz")
	if err == nil {
		_, err = f.Write(packed)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(jar.Bytes())
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			_, _ = w.Write([]byte(hex.EncodeToString(sum[:])))
			return
		}
		_, _ = w.Write(jar.Bytes())
	}))
	t.Cleanup(site.Close)
	need := bare(t, "BELLHOP_PG_REPOSITORY="+site.URL)
	first, said, code := need()
	if code != 0 || !strings.HasSuffix(first, "/bin") || !strings.Contains(said, "downloading it to ") {
		t.Fatalf("exit code %d, %q\n%s", code, first, said)
	}
	site.Close()
	if again, said, code := need(); code != 0 || again != first || said != "" {
		t.Errorf("the second time: exit code %d, %q\n%s", code, again, said)
	}
}
