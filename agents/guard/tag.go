package guard

import (
	"syscall"
	"unsafe"
)

// All processes of a ward bear its tag. So a process that lost its parents, and became the guard's child, can be
// told from the strays of other wards. The tag is a number that forks and execs inherit, and that programs do not
// remove as they remove an environment or a session: the soft limit RLIMIT_LOCKS, which no kernel since 2.4 looks
// at.
const (
	rlimitLocks = 10
	slotBits    = 20
	noTag       = uint64(1) << 43 // larger ones are no guard's; nor is there room under them
)

// tagUnder is the tag of the ward in a slot of a guard that bears one itself, or
// 0: a guard in whose tree another guard is knows that one's wards for its own.
func tagUnder(own uint64, slot int) uint64 { return own<<slotBits | uint64(slot+1) }

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

// tagIn finds the tag in a page of limits.
func tagIn(limits []byte) uint64 {
	const name = "Max file locks"
	for from := 0; from+len(name) < len(limits); {
		to := from
		for to < len(limits) && limits[to] != '\n' {
			to++
		}
		if line := limits[from:to]; len(line) > len(name) && string(line[:len(name)]) == name {
			at := len(name)
			for at < len(line) && line[at] == ' ' {
				at++
			}
			tag, _ := number(line[at:]) // "unlimited" is 0
			return tag
		}
		from = to + 1
	}
	return 0
}
