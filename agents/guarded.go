package agents

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

const (
	farHandshakeLimit = 6 * time.Minute // the near guard keeps shorter ones itself
	farPatience       = guard.LineLease + 2*time.Second

	handshakeLimit = 10 * time.Second // for a guard to start its agent
	guardPatience  = 3 * time.Second  // for a guard to obey Kill, before it is taken for stuck
	pipesGrace     = time.Second      // for the streams of a dead tree to end; a stranger may hold them
)

// guarded is one agent process under a guard.
type guarded struct {
	shared  *sharedGuard // nil: the agent is on another host,
	line    int          // and this is the pid of the guard of its line
	agent   int          // the agent's pid
	since   uint64       // nothing of it began before: the kernel's ticks since boot
	started uint64       // the agent's start time, of one that stays: pid and start name it for good
	stdin   *os.File
	stdinFD int
	stays   bool // it is to do more than one thing
	stdout  stream
	stderr  stream
	pipes   [3]uint64 // inodes of the agent's 0, 1, 2; 0 where there is no pipe
	link    *os.File  // to its guard: the request and commands go there, reports come back
	linkFD  int
	readers sync.WaitGroup     // of the streams, and the writer of stdin
	far     scheduler.HostName // the other host that the agent is on; empty: this machine
	memory  int64              // bytes that the agent takes at most
	limited bool               // as its request asks

	mu       sync.Mutex // linkFD is written to, and the guard's pid used, under mu only
	closed   bool
	handed   bool // the guard has its request: before that, commands would be taken for it
	early    []guard.Command
	patience *time.Timer
	killing  bool
}

// wires says how an agent's 0, 1 and 2 are laid.
type wires struct {
	stdin     bool // we write to it; else it is empty
	oneStream bool // 2 is 1: what it says comes in the order in which it was said
}

var errLineGuard = errors.New("the guard of the line died")

// start runs a request under a guard and returns when the agent runs.
// lease is asked when the guard is there, since this process may be stopped
// for any time before: 0 is none, negative that it is over.
func (l *Launcher) start(p childRef, r guard.Request, w wires, lease func() time.Duration) (*guarded, error) {
	g, err := l.startGuard(p, r, w, lease)
	if err != nil {
		return nil, err
	}
	return g, g.begin(r, lease)
}

// startGuard finds a guard, or starts the one of a line.
func (l *Launcher) startGuard(
	p childRef, r guard.Request, w wires, lease func() time.Duration,
) (*guarded, error) {
	g := &guarded{far: p.far, since: guard.Ticks()}
	theirs, err := g.openPipes(w)
	switch {
	case err != nil:
		err = fmt.Errorf("start a guard (%s): %w", l.guardPath, err)
	case p.far == "":
		err = l.handOver(g, p.alone, theirs, r, lease)
	case len(r.Encode()) > guard.MaxRequest:
		err = errArgsTooLong
	default:
		if g.line, err = guard.StartNear(l.guardPath, l.identity(p), theirs); err != nil {
			err = fmt.Errorf("start a guard (%s): %w", l.guardPath, err)
		}
	}
	for _, fd := range theirs {
		if fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
	if err != nil {
		g.closePipes()
		return nil, err
	}
	return g, nil
}

// begin has the guard start its agent. When it returns an error, the agent does
// not live.
func (g *guarded) begin(r guard.Request, lease func() time.Duration) (err error) {
	if g.handed { // with the descriptors
		err = g.handshake(r)
	} else if left := lease(); left < 0 {
		err = scheduler.ErrLeaseOver
	} else {
		r.Lease = millis(left)
		err = g.handshake(r)
	}
	if err == nil {
		return nil
	}
	g.mu.Lock()
	g.closed = true
	if g.patience != nil {
		g.patience.Stop()
	}
	g.mu.Unlock()
	if g.shared != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: %w", err, scheduler.ErrUnguarded) // it is stuck, and killed
		}
		if errors.Is(err, scheduler.ErrUnguarded) { // its agent may have begun already
			g.shared.fallen()
		}
		g.shared.leave(g)
		g.closePipes()
		return err
	}
	guard.KillTree(g.line) // it may be stuck; its pid is ours until it is reaped
	_ = syscall.Kill(g.line, syscall.SIGKILL)
	reap(g.line)
	g.closePipes()
	if errors.Is(err, errLineGuard) { // what the far guard may have begun ends with its lease
		time.Sleep(farPatience)
		return &LineError{g.far, err.Error()}
	}
	return err
}

// openPipes makes our ends; theirs are the agent's 0, 1 and 2, and the guard's
// end of the link; -1 where missing.
func (g *guarded) openPipes(w wires) (theirs [4]int, err error) {
	theirs = [4]int{-1, -1, -1, -1}
	if w.stdin {
		g.stdin, g.stdinFD, theirs[0], err = newPipe(false)
		g.pipes[0], g.stays = inode(theirs[0]), true
	} else {
		theirs[0], err = syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return theirs, err
	}
	if g.stdout.file, g.stdout.fd, theirs[1], err = newPipe(true); err != nil {
		return theirs, err
	}
	if w.oneStream {
		theirs[2], err = dup(theirs[1])
	} else {
		g.stderr.file, g.stderr.fd, theirs[2], err = newPipe(true)
	}
	if err != nil {
		return theirs, err
	}
	g.pipes[1], g.pipes[2] = inode(theirs[1]), inode(theirs[2])
	g.link, g.linkFD, theirs[3], err = newLink()
	return theirs, err
}

// dup gives a second number for a file; it closes on exec.
func dup(fd int) (int, error) {
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, os.NewSyscallError("fcntl", errno)
	}
	return int(n), nil
}

func inode(fd int) uint64 {
	var s syscall.Stat_t
	if fd < 0 || syscall.Fstat(fd, &s) != nil {
		return 0
	}
	return s.Ino
}

func (g *guarded) closePipes() {
	for _, f := range []*os.File{g.stdin, g.stdout.file, g.stderr.file, g.link} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (g *guarded) handshake(request guard.Request) error {
	limit := handshakeLimit
	if g.far != "" {
		limit = farHandshakeLimit
	}
	deadline := time.Now().Add(limit)
	_ = g.link.SetDeadline(deadline)
	r, message, err := g.given(request)
	switch {
	case err != nil && g.far != "":
		return errLineGuard
	case err != nil:
		return err
	}
	switch r.Kind {
	case guard.Started:
	case guard.Unreached:
		return &LineError{g.far, message}
	case guard.Missing:
		return missingThere(g.far, request, syscall.Errno(r.Value))
	default:
		return execError(orElse(request.Path, "the agent's program on host "+string(g.far)), syscall.Errno(r.Value))
	}
	g.memory, g.limited = int64(request.Memory)<<10, r.Reason != guard.Unlimited
	g.runs(int(r.Value))
	return g.link.SetDeadline(time.Time{})
}

// runs notes which process the agent is.
func (g *guarded) runs(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.agent = pid
	if g.far != "" || !g.stays {
		return // its pid is another machine's; or it is gone before anything asks
	}
	if s, ok := guard.ReadStat(pid); ok {
		g.started = s.Start
	}
}

func (g *guarded) report() (r guard.Report, message string, err error) {
	var b [guard.ReportSize]byte
	if _, err := io.ReadFull(g.link, b[:]); err != nil {
		if errors.Is(err, syscall.ECONNRESET) { // it ended, and had not read all that was said to it
			err = io.EOF
		}
		return guard.Report{}, "", err
	}
	r = guard.DecodeReport(b)
	if r.Words() == 0 {
		return r, "", nil
	}
	text := make([]byte, r.Words())
	_, err = io.ReadFull(g.link, text)
	return r, clean(text), err
}

// read starts a goroutine for each stream.
func (g *guarded) read() {
	g.readers.Go(g.stdout.run)
	if g.stderr.file != nil {
		g.readers.Go(g.stderr.run)
	}
}

// send gives the guard a command. A link that is full belongs to a guard that
// is stopped; patience deals with that one.
func (g *guarded) send(op guard.Op, value uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch command := (guard.Command{Op: op, Value: value}); {
	case g.closed:
	case !g.handed:
		g.early = append(g.early, command)
	default:
		g.write(command)
	}
}

// write is called with mu held.
func (g *guarded) write(c guard.Command) {
	b := c.Encode()
	_, _ = syscall.Write(g.linkFD, b[:])
}

// requestHanded sends what was asked of the guard meanwhile.
func (g *guarded) requestHanded() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handed = true
	for _, c := range g.early {
		g.write(c)
	}
	g.early = nil
}

func (g *guarded) hangup() { g.send(guard.Hangup, 0) }

func (g *guarded) lease(d time.Duration) { g.send(guard.Lease, millis(d)) }

// millis rounds up, so that a short lease is none of zero, which means never.
func millis(d time.Duration) uint32 {
	if d <= 0 {
		return 0
	}
	return uint32(min((d+time.Millisecond-1)/time.Millisecond, math.MaxUint32))
}

// wait returns when the agent and all its descendants are dead.
func (g *guarded) wait() end {
	r, message, err := g.report()
	for err == nil && r.Kind == guard.Living {
		g.living()
		r, message, err = g.report()
	}
	g.mu.Lock()
	g.closed = true // before the guard is reaped and its pid may be reused
	if g.patience != nil {
		g.patience.Stop()
	}
	_ = g.link.Close()
	g.mu.Unlock()
	if g.shared != nil {
		return g.ended(r, err)
	}
	reap(g.line)
	if err != nil || r.Kind != guard.Exited {
		time.Sleep(farPatience) // the far guard gets no more answers: its lease ends
		return end{status: syscall.WaitStatus(syscall.SIGKILL), line: &LineError{g.far, errLineGuard.Error()}}
	}
	if r.Reason == guard.LineLost {
		return end{status: syscall.WaitStatus(syscall.SIGKILL), reason: r.Reason, line: &LineError{g.far, message}}
	}
	return end{status: syscall.WaitStatus(r.Value), reason: r.Reason, memory: g.memory}
}

// ended is how an agent of this machine ended, for all that its guard said.
func (g *guarded) ended(r guard.Report, err error) end {
	defer g.shared.leave(g)
	if err != nil || r.Kind != guard.Exited {
		g.shared.fallen()
		return end{status: syscall.WaitStatus(syscall.SIGKILL), lost: true, guard: g.shared.pid}
	}
	return end{status: syscall.WaitStatus(r.Value), reason: r.Reason, memory: g.memory}
}

// agentDead looks at the agent itself; what it left behind may live on.
func (g *guarded) agentDead() bool {
	if g.far != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.closed
	}
	s, ok := guard.ReadStat(g.agent)
	return !ok || s.Dead() || s.Leaving || s.Start != g.started
}

// streamsEnd returns when both streams of a dead tree are read to their end.
func (g *guarded) streamsEnd() {
	grace := time.AfterFunc(pipesGrace, func() {
		now := time.Now()
		_ = g.stdout.file.SetReadDeadline(now)
		if g.stderr.file != nil {
			_ = g.stderr.file.SetReadDeadline(now)
		}
	})
	g.readers.Wait()
	grace.Stop()
}

// waitDead returns when a child of ours has ended, and leaves it to be reaped.
func waitDead(pid int) {
	const pPid, exited, noWait = 1, 4, 0x1000000 // P_PID, WEXITED, WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(pid), 0, exited|noWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// reap takes the guard that is dead, or about to be.
func reap(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
