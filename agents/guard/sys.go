package guard

import (
	"syscall"
	"unsafe"
)

// The few system calls that package syscall does not wrap. The numbers from
// 424 on are the same on every architecture.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
	sysCloseRange      = 436

	prSetName           = 15
	prSetChildSubreaper = 36
	closeRangeCloexec   = 4
	sigIgn              = 1
	sigSetMask          = 2
	signals             = 64
)

func prctl(option, value uintptr) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, option, value, 0)
}

func setComm(name string) {
	b := append([]byte(name), 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&b[0])), 0)
}

// closeOnExecFrom keeps every descriptor from fd on away from the agent, those
// too that the scheduler was started with and does not know of.
func closeOnExecFrom(fd int) {
	_, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(fd), ^uintptr(0)>>32, closeRangeCloexec)
	if errno != 0 { // before kernel 5.11
		for ; fd < 4096; fd++ {
			syscall.CloseOnExec(fd)
		}
	}
}

// sigaction is the kernel's struct, long enough on every architecture.
type sigaction struct {
	handler uintptr
	rest    [6]uint64
}

func getAction(sig int) (a sigaction) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&a)), signals/8, 0, 0)
	return a
}

func setAction(sig int, handler uintptr) {
	a := sigaction{handler: handler}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a)), 0, signals/8, 0, 0)
}

// defaultSignals undoes what this process inherited as ignored (nohup ignores
// SIGHUP, a shell's background job SIGINT): an exec would hand it on.
func defaultSignals() {
	for sig := 1; sig <= signals; sig++ {
		if getAction(sig).handler == sigIgn {
			setAction(sig, 0)
		}
	}
}

// setMask sets the calling thread's blocked signals and returns what they were.
func setMask(mask uint64) (old uint64) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetMask, uintptr(unsafe.Pointer(&mask)),
		uintptr(unsafe.Pointer(&old)), signals/8, 0, 0)
	return old
}

// receiveNow reads what has come on a socket, which itself may block.
func receiveNow(fd int, b []byte) (n int, errno syscall.Errno) {
	got, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])),
		uintptr(len(b)), syscall.MSG_DONTWAIT, 0, 0)
	return int(got), errno
}

// unread reports whether the other side of a socket has not read all that was written to it.
func unread(fd int) bool {
	var n int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	return errno == 0 && n > 0
}

// Ticks is now as the kernel counts when processes start: in hundredths of a
// second since boot.
func Ticks() uint64 {
	const boottime, perTick = 7, 10_000_000
	var t syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, boottime, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano()) / perTick
}

func readFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n == 0:
			return syscall.EPIPE
		default:
			b = b[n:]
		}
	}
	return nil
}

// readAll appends a small file of /proc to b.
func readAll(path string, b []byte) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return b, err
	}
	defer syscall.Close(fd)
	for {
		if len(b) == cap(b) {
			b = append(b, make([]byte, 512)...)[:len(b)]
		}
		n, err := syscall.Read(fd, b[len(b):cap(b)])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return b, err
		case n <= 0:
			return b, nil
		default:
			b = b[:len(b)+n]
		}
	}
}
