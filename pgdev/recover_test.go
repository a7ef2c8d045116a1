package pgdev_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

func TestStart_RecoversFromKilledServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := begin(t, pgdev.Config{Dir: dir})
	ask(t, c.URL(), "CREATE TABLE kept AS SELECT 'yes' AS was")
	pid := c.PID()
	c.Kill()
	pgtest.Eventually(t, 30*time.Second, "the killed server dies", func() bool { return dead(pid) })
	again := begin(t, pgdev.Config{Dir: dir})
	if got := ask(t, again.URL(), "SELECT was FROM kept"); got != "yes" {
		t.Errorf("kept: %q", got)
	}
	if again.URL() != c.URL() {
		t.Errorf("moved from %s to %s", c.URL(), again.URL())
	}
}

// TestStart_StalePIDFile: after a crash of the machine the pid in the file may
// be anybody's, which PostgreSQL takes for a running server. It must be left
// alone, and the cluster must start.
func TestStart_StalePIDFile(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := begin(t, pgdev.Config{Dir: dir})
	pidFile := filepath.Join(dir, "data", "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := os.Stat(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, c)

	stranger := exec.Command("sleep", "1000")
	stranger.Dir = t.TempDir()
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = stranger.Process.Kill(), stranger.Wait() }()
	_, rest, _ := strings.Cut(string(text), "\n")
	stale := strconv.Itoa(stranger.Process.Pid) + "\n" + rest
	if err := os.WriteFile(pidFile, []byte(stale), owner.Mode()); err != nil {
		t.Fatal(err)
	}
	if _, ok := pgdev.Running(dir); ok {
		t.Error("a stranger is taken for the server")
	}
	if c.PID() != 0 {
		t.Error("a stranger is taken for the server")
	}
	again := begin(t, pgdev.Config{Dir: dir})
	ask(t, again.URL(), "SELECT 'there'")
	stop(t, again)
	if dead(stranger.Process.Pid) {
		t.Error("the stranger was killed")
	}
}

func TestStart_HalfFinishedInitdbIsThrownAway(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	half := filepath.Join(dir, "data.new")
	version := filepath.Join(half, "PG_VERSION")
	if err := errors.Join(os.MkdirAll(half, 0o755), os.WriteFile(version, []byte("15\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := begin(t, pgdev.Config{Dir: dir})
	ask(t, c.URL(), "SELECT 'there'")
	if !missing(half) {
		t.Error("the half-finished cluster is still there")
	}
}

// TestStart_BrokenStateFile: the port and the password are made up anew.
func TestStart_BrokenStateFile(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := begin(t, pgdev.Config{Dir: dir})
	stop(t, c)
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := begin(t, pgdev.Config{Dir: dir})
	if again.TCPURL() == c.TCPURL() {
		t.Error("the same password")
	}
	ask(t, again.TCPURL(), "SELECT 'there'")
}

func TestStart_OtherMajorVersionIsNamed(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("3\n"),
		0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := pgdev.Start(t.Context(), pgdev.Config{Dir: dir})
	if !errors.Is(err, pgdev.ErrNotFound) ||
		!strings.Contains(err.Error(), "the one version that can run this cluster, 3") {
		t.Errorf("error %v", err)
	}
}
