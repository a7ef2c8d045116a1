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
	if len(os.Args) > 0 && os.Args[0] == Name {
		syscall.Exit(run()) // os.Exit would wait a second in a race-enabled binary
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
	w := watch{children: make(chan os.Signal, 1), term: make(chan os.Signal, 1)}
	signal.Notify(w.children, syscall.SIGCHLD)
	signal.Notify(w.term, syscall.SIGTERM)
	if errno := w.fork(request); errno != 0 {
		report(Report{Kind: Failed, Value: uint32(errno)})
		return 1
	}
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

// fork starts the agent in a session of its own with no signal blocked and
// none ignored, whatever the scheduler itself was started with.
func (w *watch) fork(r Request) syscall.Errno {
	defaultSignals()
	old := setMask(0)
	defer setMask(old)
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if r.DropUser {
		sys.Credential = &syscall.Credential{Uid: r.UID, Gid: r.GID, Groups: r.Groups}
	}
	pid, err := syscall.ForkExec(r.Path, r.Argv, &syscall.ProcAttr{
		Dir: r.Dir, Env: r.Env, Files: []uintptr{0, 1, 2}, Sys: sys,
	})
	if err != nil {
		if e, ok := err.(syscall.Errno); ok {
			return e
		}
		return syscall.EINVAL
	}
	w.agent = pid
	return 0
}

// letGo drops what the guard holds of the agent's: with its copies of 0, 1, 2
// open nobody would ever see the end of a stream. From here on only SIGTERM
// and SIGKILL end the guard.
func letGo() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGALRM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = syscall.Dup3(null, fd, syscall.O_CLOEXEC)
		}
		_ = syscall.Close(null)
	}
	_ = syscall.Chdir("/")
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
