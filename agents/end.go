package agents

import (
	"fmt"
	"syscall"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// end is how an agent ended.
type end struct {
	status syscall.WaitStatus
	reason guard.Reason
	lost   bool // the guard died before it could tell
	guard  int  // which one
	line   *LineError
	memory int64 // that it might take, in bytes
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

// order is whose wish the end was: a missed lease is the scheduler's doing, and
// so is the death of its guard.
func (e end) order() scheduler.StopReason {
	if e.lost {
		return scheduler.StopUnguarded
	}
	if e.reason == guard.LeaseMissed {
		return scheduler.StopFenced
	}
	if e.line != nil {
		return scheduler.StopUnreached
	}
	return scheduler.StopNone
}

func (e end) String() string {
	switch {
	case e.line != nil:
		return e.line.Error()
	case e.lost:
		return "killed: its guard died"
	case e.reason == guard.LeaseMissed:
		return "killed: its lease was not renewed in time"
	case e.reason == guard.Terminated:
		return "killed: its guard was told to end"
	case e.reason == guard.Ordered && e.status.Signal() == syscall.SIGKILL: // else it was about to end by itself
		return "killed on order"
	case e.reason == guard.OverMemory:
		return "killed: it took more memory than the " + sizeOf(e.memory) + " that it may (agents[].memory)"
	case e.status.Signaled():
		return fmt.Sprintf("killed by signal %d (%s)", int(e.status.Signal()), e.status.Signal())
	}
	return fmt.Sprintf("exit status %d", e.status.ExitStatus())
}
