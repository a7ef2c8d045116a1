package guard

import "syscall"

// Start runs a guard: the program at path under argv[0] = Name, with args
// after it. files become its descriptors 0 to 4. The caller reaps the pid.
func Start(path string, args []string, files [5]uintptr) (pid int, err error) {
	// One thread's worth of heap and no collector: a guard allocates next to nothing.
	return start(path, args, files, "GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none")
}

// StartNear runs a guard whose agent is on another host. It carries what the
// agent says, and may come to need its collector.
func StartNear(path string, args []string, files [5]uintptr) (pid int, err error) {
	return start(path, args, files, "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=32MiB", "GOTRACEBACK=none")
}

func start(path string, args []string, files [5]uintptr, env ...string) (pid int, err error) {
	return syscall.ForkExec(path, append([]string{Name}, args...), &syscall.ProcAttr{
		Env:   env,
		Files: files[:],
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
