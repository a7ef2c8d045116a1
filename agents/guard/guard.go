package guard

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Name is argv[0] of a guard, and its name in ps and pkill: a signal to all processes called bellhop does not reach
// the guards.
const Name = "bh-guard"

const (
	controlFD = 3
	statusFD  = 4
)

func init() {
	// os.Exit would wait a second in a race-enabled binary.
	switch {
	case len(os.Args) > 0 && os.Args[0] == Name:
		syscall.Exit(run())
	case len(os.Args) > 1 && os.Args[1] == FarFlag && isFarName(os.Args[0]):
		syscall.Exit(runFar(os.Args[2:]))
	}
}

// watch is the guard of one agent, at the far end of a line.
type watch struct {
	agent    int  // its pid
	gone     bool // the agent has been reaped
	status   syscall.WaitStatus
	children chan os.Signal // SIGCHLD
	term     chan os.Signal // SIGTERM
}

func run() int {
	// The agents' Pdeathsig fires when the thread that forked them ends; the
	// main thread ends with the process.
	runtime.LockOSThread()
	becomeGuard()
	if takesPackets(socketFD) {
		return runWards()
	}
	request, err := readRequest(controlFD)
	if err != nil {
		report(Report{Kind: Failed, Value: uint32(syscall.EPROTO)})
		return 1
	}
	return runNear(request)
}

// becomeGuard makes this process one that inherits the orphans of its
// descendants and leaks no descriptor to them.
func becomeGuard() {
	takeOrphans()
	closeOnExecFrom(controlFD)
	syscall.Umask(0o022)
}

// startAgent starts the agent of a request on these files, in a cgroup of its own if room names one.
func startAgent(r Request, files [3]uintptr, room string) (pid int, errno syscall.Errno) {
	sys := &syscall.SysProcAttr{}
	if room != "" {
		done, err := into(room, sys)
		if err != nil {
			return 0, syscall.EAGAIN
		}
		defer done()
	}
	if r.DropUser {
		sys.Credential = &syscall.Credential{Uid: r.UID, Gid: r.GID, Groups: r.Groups}
	}
	if r.CalledAs != "" {
		folder := folderOf(r.Path)
		r.Argv = append([]string{folder + "/" + r.CalledAs}, r.Argv[1:]...)
		if r.Dir == "" {
			r.Dir = folder + "/"
		}
	}
	r.Env = setEnv(r.Env, mark())
	return forkExec(r.Path, r.Argv, &syscall.ProcAttr{Dir: r.Dir, Env: r.Env, Files: files[:], Sys: sys})
}

// folderOf is where a program lies, whose path is absolute.
func folderOf(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return ""
}

// signalsAreDefault: what this guard has inherited as ignored is undone, and it has ignored nothing itself since.
var signalsAreDefault bool

// forkExec starts a program in a session of its own, that dies with us, with no
// signal blocked and none ignored, whatever the scheduler itself was started with.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, errno syscall.Errno) {
	if !signalsAreDefault { // 64 system calls, a sixth of what a fork costs here
		defaultSignals()
		signalsAreDefault = true
	}
	old := setMask(0)
	defer setMask(old)
	attr.Sys.Setsid = true
	dieWithParent(attr.Sys)
	pid, err := syscall.ForkExec(path, argv, attr)
	if err == nil {
		return pid, 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return 0, e
	}
	return 0, syscall.EINVAL
}

// others are the signals that a guard does not heed. Only SIGTERM and SIGKILL end it.
var others = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGALRM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// deafen is for a guard that has started its agent: what is ignored is handed on
// by an exec.
func deafen() {
	signal.Ignore(others...)
	signalsAreDefault = false
	_ = syscall.Chdir("/")
}

// nullAt puts /dev/null in a descriptor's place: a closed one would be given to
// whatever is opened next.
func nullAt(fd int) {
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err == nil {
		_ = putAt(null, fd)
		_ = syscall.Close(null)
	}
}

// reap takes all that is dead and reports whether any child is left.
func (w *watch) reap() (left bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD: nothing is left, since every orphan becomes a child of ours
			return false
		case pid == 0:
			return true
		case pid == w.agent:
			w.gone, w.status = true, status
		}
	}
}

// killAll returns when no descendant is left.
func (w *watch) killAll() {
	nap := 100 * time.Microsecond
	for w.reap() || len(orphansOf(w.agent)) > 0 {
		KillTree(syscall.Getpid())
		killTrees(orphansOf(w.agent))
		for range 4 {
			if !w.reap() && len(orphansOf(w.agent)) == 0 {
				return
			}
			time.Sleep(nap)
		}
		nap = min(2*nap, 20*time.Millisecond)
	}
}

func report(r Report) { tell(statusFD, r) }
