package guard

import (
	"os"
	"syscall"
)

// pidSpace names the pid namespace and the start of the machine: where a pid and its start name one process.
func pidSpace() string {
	boot := readSome("/proc/sys/kernel/random/boot_id", nil)
	space, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if len(boot) < 36 || err != nil || len(space) < 7 {
		return ""
	}
	return space[5:len(space)-1] + ":" + string(boot[:36])
}

// IsNear: the process is of this process's pid namespace.
func IsNear(pid int) bool {
	here, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	there, err := os.Readlink("/proc/" + decimal(pid) + "/ns/pid")
	return err == nil && there == here
}

// environOf appends the environment that a process was started with, its pairs ended by zeros.
func environOf(pid int, b []byte) []byte { return readSome("/proc/"+decimal(pid)+"/environ", b) }

// ArgvOf gives the arguments of a process, ended by zeros; empty for a zombie.
func ArgvOf(pid int) []byte {
	b, err := readAll("/proc/"+decimal(pid)+"/cmdline", nil)
	if err != nil {
		return nil
	}
	return b
}

func commOf(pid int) string {
	b := readSome("/proc/"+decimal(pid)+"/comm", nil)
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	return string(b)
}

// parentOfStray: a stray was given to this process, its guard.
func parentOfStray(int) int { return syscall.Getpid() }

// orphansOf are what else lives of an agent that is dead: all of that are children of its guard here.
func orphansOf(int) []int { return nil }

// strayPids are our children that no ward's own agent is: their parents have died. known is false when that could
// not be found out just now.
func (g *wards) strayPids() (pids []int, known bool) {
	if !g.left {
		return nil, true
	}
	all, ok := ownChildren()
	for _, pid := range all {
		if g.byAgent[pid] == nil {
			pids = append(pids, pid)
		}
	}
	return pids, ok
}
