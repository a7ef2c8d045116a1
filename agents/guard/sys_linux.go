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

// takeOrphans makes this process the parent of those of its descendants whose parents die.
func takeOrphans() {
	prctl(prSetChildSubreaper, 1)
	setComm(Name)
}

// dieWithParent: the kernel kills the process when the thread that started it ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// OwnProgram is the file that this process runs, even where another one has taken its name since.
func OwnProgram() string { return "/proc/self/exe" }

// Pipe makes one whose ends close on exec.
func Pipe(ends *[2]int, nonblock bool) error {
	flags := syscall.O_CLOEXEC
	if nonblock {
		flags |= syscall.O_NONBLOCK
	}
	return syscall.Pipe2(ends[:], flags)
}

// StreamPair is a pair of sockets on which bytes go. Both close on exec.
func StreamPair() ([2]int, error) {
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}

// putAt makes a descriptor mean another's file; it closes on exec.
func putAt(from, at int) error { return syscall.Dup3(from, at, syscall.O_CLOEXEC) }

// duplicate takes one more descriptor for a file.
func duplicate(fd int) (int, bool) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	return int(n), errno == 0
}

// systemName is this system's, as uname says it.
const systemName = "Linux"

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
