package guard

import "syscall"

// Pinned is a process that is held on to: it never means another one.
type Pinned struct{ fd int }

// Pin holds on to a process.
func Pin(pid int) (Pinned, error) {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return Pinned{}, errno
	}
	return Pinned{int(fd)}, nil
}

// Signal signals the pinned process.
func (p Pinned) Signal(sig syscall.Signal) error {
	_, _, errno := syscall.RawSyscall6(sysPidfdSendSignal, uintptr(p.fd), uintptr(sig), 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Free lets go of it.
func (p Pinned) Free() { _ = syscall.Close(p.fd) }
