package guard

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// systemName is this system's, as uname says it.
const systemName = "Darwin"

// takeOrphans: orphans go to launchd here. What is left of an agent is found by its session instead.
func takeOrphans() {}

// dieWithParent: there is no such thing here. What a killed guard leaves behind, its instance or the next one kills.
func dieWithParent(*syscall.SysProcAttr) {}

// OwnProgram is the file that this process was started from.
func OwnProgram() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

// Pipe makes one whose ends close on exec.
func Pipe(ends *[2]int, nonblock bool) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return err
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
		if nonblock {
			_ = syscall.SetNonblock(fd, true)
		}
	}
	return nil
}

// putAt makes a descriptor mean another's file; it closes on exec.
func putAt(from, at int) error {
	if err := syscall.Dup2(from, at); err != nil {
		return err
	}
	syscall.CloseOnExec(at)
	return nil
}

// duplicate takes one more descriptor for a file.
func duplicate(fd int) (int, bool) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return n, err == nil
}

// closeOnExecFrom keeps every descriptor from fd on away from the agent, those
// too that the scheduler was started with and does not know of.
func closeOnExecFrom(fd int) {
	for ; fd < 4096; fd++ {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
}

// defaultSignals undoes what this process inherited as ignored: an exec makes those that are caught what they were.
func defaultSignals() { signal.Notify(make(chan os.Signal, 1), others...) }

// setMask changes nothing: the runtime starts programs with the signals blocked with which it was started itself.
func setMask(uint64) uint64 { return 0 }

// receiveNow reads what has come on a socket, which itself may block.
func receiveNow(fd int, b []byte) (int, syscall.Errno) {
	n, _, err := syscall.Recvfrom(fd, b, syscall.MSG_DONTWAIT)
	errno, _ := err.(syscall.Errno)
	return n, errno
}

// unread reports whether the other side of a socket has not read all that was written to it.
func unread(fd int) bool {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NWRITE)
	return err == nil && n > 0
}

// Ticks is now as the system counts when processes start: in millionths of a second since 1970.
func Ticks() uint64 { return uint64(time.Now().UnixMicro()) }

// setTag and tagOf: no number is inherited that programs do not change.
func setTag(uint64) {}

func tagOf(int) uint64 { return 0 }

func ownTag() uint64 { return 0 }
