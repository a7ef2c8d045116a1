package guard

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Name is argv[0] of a guard, and its name in ps and pkill: whoever signals
// all processes called bellhop does not reach the guards.
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

// watch is one guard at work.
type watch struct {
	agent    int  // its pid
	gone     bool // the agent has been reaped
	status   syscall.WaitStatus
	children chan os.Signal // SIGCHLD
	term     chan os.Signal // SIGTERM
}

func run() int {
	// The agent's Pdeathsig fires when the thread that forked it ends; the
	// main thread ends with the process.
	runtime.LockOSThread()
	becomeGuard()
	request, err := readRequest(controlFD)
	if err != nil {
		report(Report{Kind: Failed, Value: uint32(syscall.EPROTO)})
		return 1
	}
	if len(request.Way) > 0 {
		return runNear(request)
	}
	w := watch{children: make(chan os.Signal, 1), term: make(chan os.Signal, 1)}
	signal.Notify(w.children, syscall.SIGCHLD)
	signal.Notify(w.term, syscall.SIGTERM)
	if errno := w.fork(request, [3]uintptr{0, 1, 2}); errno != 0 {
		report(Report{Kind: Failed, Value: uint32(errno)})
		return 1
	}
	deafen()
	letGo()
	report(Report{Kind: Started, Value: uint32(w.agent)})
	reason := w.keep(request.Lease)
	w.killAll()
	report(Report{Kind: Exited, Reason: reason, Value: uint32(w.status)})
	return 0
}

// becomeGuard makes this process one that inherits the orphans of its
// descendants and leaks no descriptor to them.
func becomeGuard() {
	prctl(prSetChildSubreaper, 1)
	setComm(Name)
	closeOnExecFrom(controlFD)
	syscall.Umask(0o022)
}

// fork starts the agent on these files.
func (w *watch) fork(r Request, files [3]uintptr) (errno syscall.Errno) {
	sys := &syscall.SysProcAttr{}
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
	w.agent, errno = forkExec(r.Path, r.Argv, &syscall.ProcAttr{Dir: r.Dir, Env: r.Env, Files: files[:], Sys: sys})
	return errno
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

// forkExec starts a program in a session of its own, that dies with us, with no
// signal blocked and none ignored, whatever the scheduler itself was started with.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, errno syscall.Errno) {
	defaultSignals()
	old := setMask(0)
	defer setMask(old)
	attr.Sys.Setsid, attr.Sys.Pdeathsig = true, syscall.SIGKILL
	pid, err := syscall.ForkExec(path, argv, attr)
	if err == nil {
		return pid, 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return 0, e
	}
	return 0, syscall.EINVAL
}

// deafen: from here on only SIGTERM and SIGKILL end the guard.
func deafen() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGALRM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	_ = syscall.Chdir("/")
}

// letGo drops what the guard holds of the agent's: with its copies of 0, 1, 2
// open nobody would ever see the end of a stream.
func letGo() {
	for fd := range 3 {
		nullAt(fd)
	}
}

// nullAt puts /dev/null in a descriptor's place: a closed one would be given to
// whatever is opened next.
func nullAt(fd int) {
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err == nil {
		_ = syscall.Dup3(null, fd, syscall.O_CLOEXEC)
		_ = syscall.Close(null)
	}
}

// keep waits until there is a reason to end: the agent's own exit, an order,
// the scheduler's end, a lease not renewed, SIGTERM.
func (w *watch) keep(lease uint32) Reason {
	commands := make(chan Command)
	go readCommands(controlFD, commands)
	timer := time.NewTimer(time.Hour)
	renew(timer, lease)
	for {
		select {
		case <-w.children: // the agent, or an orphan that became ours
			if w.reap(); w.gone {
				return ByItself
			}
		case <-timer.C:
			return LeaseMissed
		case <-w.term:
			return Terminated
		case c, ok := <-commands:
			switch {
			case !ok:
				return SchedulerGone
			case c.Op == Kill:
				return Ordered
			case c.Op == Lease:
				renew(timer, c.Value)
			case c.Op == Hangup:
				_ = syscall.Kill(w.agent, syscall.SIGHUP) // not reaped yet, so the pid is still its own
			}
		}
	}
}

func renew(timer *time.Timer, ms uint32) {
	if timer.Stop(); ms > 0 {
		timer.Reset(time.Duration(ms) * time.Millisecond)
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
	for w.reap() {
		KillTree(syscall.Getpid())
		for range 4 {
			if !w.reap() {
				return
			}
			time.Sleep(nap)
		}
		nap = min(2*nap, 20*time.Millisecond)
	}
}

func report(r Report) {
	b := r.encode()
	_, _ = syscall.Write(statusFD, b[:]) // a scheduler that is gone reads no report
}
