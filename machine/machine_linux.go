package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// This names the machine as far as processes can be looked up on it: a boot, and a pid namespace, since a container
// shares the first and not the second. Empty if that cannot be told: then no process is ever "of this machine".
func This() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// ProcessStart is when a process started, in the kernel's ticks since boot: a
// pid alone identifies nothing. Empty: there is no such process, or all that is
// left of it is a zombie.
func ProcessStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		if _, gone := os.Stat(fmt.Sprintf("/proc/%d", pid)); errors.Is(gone, os.ErrNotExist) {
			return "", nil // ESRCH: it went while we read
		}
		return "", err
	}
	// pid (comm) state …: comm may hold blanks and parentheses.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat is not as expected", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", nil
	}
	return fields[19], nil
}
