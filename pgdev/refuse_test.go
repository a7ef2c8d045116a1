package pgdev_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev"
	"bellhop/pgdev/pgtest"
)

func TestStart_RefusedSettingShowsTheLog(t *testing.T) {
	t.Parallel()
	_, err := pgdev.Start(t.Context(), pgdev.Config{Settings: map[string]string{"no_such_thing": "1"}})
	if err == nil || !strings.Contains(err.Error(), `"no_such_thing"`) {
		t.Errorf("error %v", err)
	}
}

func TestStart_ForeignFolderIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	mine := filepath.Join(dir, "data", "mine")
	if err := errors.Join(os.MkdirAll(filepath.Dir(mine), 0o755), os.WriteFile(mine, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err := pgdev.Start(t.Context(), pgdev.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "--data-dir") || missing(mine) {
		t.Errorf("error %v", err)
	}
}

func TestStart_ClosedFolderIsNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root lends PostgreSQL another account")
	}
	closed := pgtest.Dir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := pgdev.Start(t.Context(), pgdev.Config{Dir: filepath.Join(closed, "cluster")})
	if err == nil || !strings.Contains(err.Error(), "chmod o+x "+closed) {
		t.Errorf("error %v", err)
	}
}

// TestStart_AnotherContainer: process ids seen from another container say
// nothing, so an owner that lives there is not taken for dead.
func TestStart_AnotherContainer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := begin(t, pgdev.Config{Dir: dir})
	state := filepath.Join(dir, "cluster.json")
	text, err := os.ReadFile(state)
	if err != nil || !strings.Contains(string(text), "pid:[") {
		t.Skip("no process id spaces here:", err)
	}
	c.Kill() // the server cannot be seen; its owner holds on
	pgtest.Eventually(t, 30*time.Second, "the killed server dies", func() bool { return c.PID() == 0 })
	other := strings.Replace(string(text), "pid:[", "pid:[1", 1)
	if err := os.WriteFile(state, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = pgdev.Start(t.Context(), pgdev.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "another container") {
		t.Errorf("error %v", err)
	}
	if err := c.Restart(t.Context(), "fast"); err != nil { // so that its shared memory goes with it
		t.Error(err)
	}
}
