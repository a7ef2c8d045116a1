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
	handshakeLimit = 10 * time.Second // for a guard to start its agent
	guardPatience  = 3 * time.Second  // for a guard to obey Kill, before it is taken for stuck
	pipesGrace     = time.Second      // for the streams of a dead tree to end; a stranger may hold them
)

// guarded is one agent process under its guard.
type guarded struct {
	guard     int    // the guard's pid
	agent     int    // the agent's pid
	started   uint64 // the agent's start time: pid and start name it for good
	stdin     *os.File
	stdinFD   int
	stdout    stream
	stderr    stream
	pipes     [3]uint64 // inodes of the agent's 0, 1, 2; 0 where there is no pipe
	status    *os.File
	readers   sync.WaitGroup // of the streams, and who writes to stdin
	control   *os.File
	controlFD int

	mu       sync.Mutex // controlFD is written to, and the guard's pid used, under mu only
	closed   bool
	patience *time.Timer
}

// errLeaseOver: others may have taken the work over; it is not begun here.
var errLeaseOver = errors.New("the instance's lease is over")

// start runs a request under a new guard and returns when the agent runs.
// lease is asked when the guard is there, since this process may be stopped
// for any time before: 0 is none, negative that it is over.
func (l *Launcher) start(child scheduler.ChildName, r guard.Request, withStdin bool, lease func() time.Duration) (*guarded, error) {
	if len(r.Encode()) > guard.MaxRequest {
		return nil, errArgsTooLong
	}
	g := &guarded{}
	theirs, err := g.openPipes(withStdin)
	if err == nil {
		g.guard, err = guard.Start(l.guardPath, l.identity(child), [5]uintptr{
			uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2]), uintptr(theirs[3]), uintptr(theirs[4])})
	}
	for _, fd := range theirs {
		if fd >= 0 {
			_ = syscall.Close(fd)
		}
	}
	if err != nil {
		g.closePipes()
		return nil, fmt.Errorf("start a guard (%s): %w", l.guardPath, err)
	}
	left := lease()
	if r.Lease = millis(left); left < 0 {
		err = errLeaseOver
	} else {
		err = g.handshake(r.Encode(), r.Path)
	}
	if err != nil {
		g.closePipes()
		guard.KillTree(g.guard) // it may be stuck; its pid is ours until it is reaped
		_ = syscall.Kill(g.guard, syscall.SIGKILL)
		reap(g.guard)
		return nil, err
	}
	if s, ok := guard.ReadStat(g.agent); ok {
		g.started = s.Start
	}
	return g, nil
}

// openPipes makes our ends; theirs are 0 to 4 of the guard, -1 where missing.
func (g *guarded) openPipes(withStdin bool) (theirs [5]int, err error) {
	theirs = [5]int{-1, -1, -1, -1, -1}
	if withStdin {
		g.stdin, g.stdinFD, theirs[0], err = newPipe(false)
		g.pipes[0] = inode(theirs[0])
	} else {
		theirs[0], err = syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return theirs, err
	}
	if g.stdout.file, g.stdout.fd, theirs[1], err = newPipe(true); err != nil {
		return theirs, err
	}
	if g.stderr.file, g.stderr.fd, theirs[2], err = newPipe(true); err != nil {
		return theirs, err
	}
	g.pipes[1], g.pipes[2] = inode(theirs[1]), inode(theirs[2])
	if g.control, g.controlFD, theirs[3], err = newPipe(false); err != nil {
		return theirs, err
	}
	g.status, _, theirs[4], err = newPipe(true)
	return theirs, err
}

func inode(fd int) uint64 {
	var s syscall.Stat_t
	if fd < 0 || syscall.Fstat(fd, &s) != nil {
		return 0
	}
	return s.Ino
}

func (g *guarded) closePipes() {
	for _, f := range []*os.File{g.stdin, g.stdout.file, g.stderr.file, g.control, g.status} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (g *guarded) handshake(request []byte, path string) error {
	deadline := time.Now().Add(handshakeLimit)
	_ = g.control.SetWriteDeadline(deadline)
	_ = g.status.SetReadDeadline(deadline)
	if _, err := g.control.Write(request); err != nil {
		return fmt.Errorf("hand the agent to its guard: %w", err)
	}
	r, err := g.report()
	if err != nil {
		return fmt.Errorf("wait for the guard to start %s: %w", path, err)
	}
	if r.Kind != guard.Started {
		return execError(path, syscall.Errno(r.Value))
	}
	g.agent = int(r.Value)
	return g.status.SetReadDeadline(time.Time{})
}

func (g *guarded) report() (guard.Report, error) {
	var b [guard.ReportSize]byte
	if _, err := io.ReadFull(g.status, b[:]); err != nil {
		return guard.Report{}, err
	}
	return guard.DecodeReport(b), nil
}

// read starts a goroutine for each stream.
func (g *guarded) read() {
	g.readers.Go(g.stdout.run)
	g.readers.Go(g.stderr.run)
}

// send gives the guard a command. A pipe that is full belongs to a guard that
// is stopped; patience deals with that one.
func (g *guarded) send(op guard.Op, value uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		b := guard.Command{Op: op, Value: value}.Encode()
		_, _ = syscall.Write(g.controlFD, b[:])
	}
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

// kill has the guard kill the tree, and does it without the guard when that
// does not answer.
func (g *guarded) kill() {
	g.send(guard.Kill, 0)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && g.patience == nil {
		g.patience = time.AfterFunc(guardPatience, g.force)
	}
}

func (g *guarded) force() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		guard.KillTree(g.guard)
		_ = syscall.Kill(g.guard, syscall.SIGKILL)
	}
}

// end is how an agent ended.
type end struct {
	status syscall.WaitStatus
	reason guard.Reason
	lost   bool // the guard died before it could tell
}

// wait returns when the agent and all its descendants are dead.
func (g *guarded) wait() end {
	r, err := g.report()
	g.mu.Lock()
	g.closed = true // before the guard is reaped and its pid means somebody else
	if g.patience != nil {
		g.patience.Stop()
	}
	_ = g.control.Close()
	g.mu.Unlock()
	_ = g.status.Close()
	reap(g.guard)
	if err != nil || r.Kind != guard.Exited {
		g.clearOrphans()
		return end{status: syscall.WaitStatus(syscall.SIGKILL), lost: true}
	}
	return end{status: syscall.WaitStatus(r.Value), reason: r.Reason}
}

// agentDead looks at the agent itself; what it left behind may live on.
func (g *guarded) agentDead() bool {
	s, ok := guard.ReadStat(g.agent)
	return !ok || s.Dead() || s.Start != g.started
}

// streamsEnd returns when both streams of a dead tree are read to their end.
func (g *guarded) streamsEnd() {
	grace := time.AfterFunc(pipesGrace, func() {
		now := time.Now()
		_, _ = g.stdout.file.SetReadDeadline(now), g.stderr.file.SetReadDeadline(now)
	})
	g.readers.Wait()
	grace.Stop()
}

// reap takes the guard that is dead, or about to be.
func reap(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}

// exitCode is 0…255, and 128+n for signal n, as a shell has it.
func (e end) exitCode() int {
	if e.status.Signaled() {
		return 128 + int(e.status.Signal())
	}
	return e.status.ExitStatus()
}

func (e end) signal() int {
	if e.status.Signaled() {
		return int(e.status.Signal())
	}
	return 0
}

// order is whose wish the end was: a missed lease is the scheduler's doing.
func (e end) order() scheduler.Order {
	if !e.lost && e.reason == guard.LeaseMissed {
		return scheduler.OrderFenced
	}
	return scheduler.OrderNone
}

func (e end) String() string {
	switch {
	case e.lost:
		return "killed: its guard died"
	case e.reason == guard.LeaseMissed:
		return "killed: its lease was not renewed in time"
	case e.reason == guard.Terminated:
		return "killed: its guard was told to end"
	case e.reason == guard.Ordered:
		return "killed on order"
	case e.status.Signaled():
		return fmt.Sprintf("killed by signal %d (%s)", int(e.status.Signal()), e.status.Signal())
	}
	return fmt.Sprintf("exit status %d", e.status.ExitStatus())
}
