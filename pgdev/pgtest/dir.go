package pgtest

import (
	"errors"
	"os"
	"testing"
)

// Dir gives an empty folder for a kept cluster (pgdev.Config.Dir, `serve
// --data-dir`), removed when the test ends. Root's t.TempDir() will not do:
// PostgreSQL runs under another account then, which may not enter it.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bellhop-test-")
	if err == nil && os.Geteuid() == 0 {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("remove the test's folder: %v", err)
		}
	})
	return dir
}
