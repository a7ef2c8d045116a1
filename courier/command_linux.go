package courier

import "syscall"

// own has the program killed when this one is, and puts it into a group of its own,
// so that what it has started ends with it.
func own() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
