//go:build !linux

package courier

import "syscall"

// own puts the program into a group of its own, so that what it has started ends
// with it.
func own() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
