package torture

import "syscall"

// tied: a torture that is killed leaves no instance behind.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
