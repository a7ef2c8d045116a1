//go:build !linux

package torture

import "syscall"

// tied: only Linux ends a process with its parent.
func tied() *syscall.SysProcAttr { return nil }
