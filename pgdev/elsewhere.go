//go:build !unix

package pgdev

import (
	"os"
	"path/filepath"
)

// On a system that is no unix there is no embedded server: commands work on a database elsewhere.

// DefaultDir is where a cluster would lie.
func DefaultDir() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "bellhop")
}

// Running finds none.
func Running(string) (url string, ok bool) { return "", false }
