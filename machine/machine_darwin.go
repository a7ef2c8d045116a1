package machine

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// This names the machine as far as processes can be looked up on it: its boot. Empty if that cannot be told: then no
// process is ever "of this machine".
func This() string {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return boot
}

// ProcessStart is when a process started, in millionths of a second since 1970: a pid alone identifies nothing.
// Empty: there is no such process, or all that is left of it is a zombie.
func ProcessStart(pid int) (string, error) {
	const zombie = 5
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid || p.Proc.P_stat == zombie {
		return "", nil // the call gives nothing for a pid that no process has
	}
	start := uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec)
	return strconv.FormatUint(start, 10), nil
}
