package guard

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Pinned is a process that is held on to: a kqueue that hears of its end. Between the look at that and a signal the
// process may end, and its pid may be given away. This system gives pids away in turn, so this has never been seen.
type Pinned struct{ queue, pid int }

// Pin holds on to a process.
func Pin(pid int) (Pinned, error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return Pinned{}, err
	}
	unix.CloseOnExec(queue)
	var event unix.Kevent_t
	unix.SetKevent(&event, pid, unix.EVFILT_PROC, unix.EV_ADD)
	event.Fflags = unix.NOTE_EXIT
	if _, err := unix.Kevent(queue, []unix.Kevent_t{event}, nil, nil); err != nil {
		_ = unix.Close(queue)
		return Pinned{}, err
	}
	return Pinned{queue, pid}, nil
}

// Signal signals the pinned process.
func (p Pinned) Signal(sig syscall.Signal) error {
	var ended [1]unix.Kevent_t
	if n, err := unix.Kevent(p.queue, nil, ended[:], &unix.Timespec{}); err != nil {
		return err
	} else if n > 0 {
		return syscall.ESRCH
	}
	return syscall.Kill(p.pid, sig)
}

// Free lets go of it.
func (p Pinned) Free() { _ = unix.Close(p.queue) }
