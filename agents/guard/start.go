package guard

import "syscall"

// Start runs a guard: the program at path under argv[0] = Name, with args
// after it. files become its descriptors 0 to 4. The caller reaps the pid.
func Start(path string, args []string, files [5]uintptr) (pid int, err error) {
	return syscall.ForkExec(path, append([]string{Name}, args...), &syscall.ProcAttr{
		// One thread's worth of heap and no collector: a guard allocates next to nothing.
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"},
		Files: files[:],
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
