package guard

import (
	"syscall"
	"unsafe"
)

const rlimitLocks = 10

// ownTag is what this process bears.
func ownTag() uint64 {
	if t := tagOf(0); t < noTag {
		return t
	}
	return 0
}

// setTag gives this process a tag, for the child that it forks next. Where the
// kernel refuses, strays are known by their session alone.
func setTag(tag uint64) {
	var l syscall.Rlimit
	if syscall.Getrlimit(rlimitLocks, &l) == nil {
		l.Cur = tag
		_ = syscall.Setrlimit(rlimitLocks, &l)
	}
}

// tagOf is that of a process; 0: none, or it cannot be told.
func tagOf(pid int) uint64 {
	var l struct{ Cur, Max uint64 }
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks, 0,
		uintptr(unsafe.Pointer(&l)), 0, 0)
	switch {
	case errno != 0: // of another user, or set-uid; the page is readable by all
		return tagIn(readSome("/proc/"+decimal(pid)+"/limits", nil))
	case l.Cur == ^uint64(0):
		return 0
	}
	return l.Cur
}
