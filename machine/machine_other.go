//go:build !linux && !darwin

package machine

import (
	"errors"
	"fmt"
)

// This is empty: on this system processes are not looked up, so none is ever "of this machine".
func This() string { return "" }

// ProcessStart cannot be told here.
func ProcessStart(pid int) (string, error) {
	return "", fmt.Errorf("when process %d started: %w", pid, errors.ErrUnsupported)
}
