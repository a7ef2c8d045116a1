package guard

import "syscall"

// Start runs the guard of an instance's agents on this machine: the program at
// path under argv[0] = Name, with args after it. Over socket, a unix socket of
// packets, it is given wards: for each a message of NewWard and its request, or
// of NewWard alone where that comes over the link, with the descriptors of the
// link and of the agent's 0, 1 and 2. The caller reaps the pid.
func Start(path string, args []string, socket uintptr) (pid int, err error) {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(null)
	return start(path, args, []uintptr{uintptr(null), uintptr(null), uintptr(null), socket},
		append([]string{"GOGC=50"}, packetsEnv...)...)
}

// StartNear runs the guard of one agent on another host: it carries what the
// agent says, and may come to need its collector. files are the agent's 0, 1 and
// 2 and the link, over which the guard is commanded and reports.
func StartNear(path string, args []string, files [4]int) (pid int, err error) {
	list := []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2]), uintptr(files[3]), uintptr(files[3])}
	return start(path, args, list, "GOGC=off", "GOMEMLIMIT=32MiB")
}

func start(path string, args []string, files []uintptr, env ...string) (pid int, err error) {
	return syscall.ForkExec(path, append([]string{Name}, args...), &syscall.ProcAttr{
		Env:   append(env, "GOMAXPROCS=1", "GOTRACEBACK=none"),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
