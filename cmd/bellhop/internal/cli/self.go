package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// Built is what the build knows of itself; the commit is empty where it does not.
func Built() (version, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)", ""
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit != "" {
		commit += dirty
	}
	return cmp.Or(info.Main.Version, "(devel)"), commit
}

// Version is a released version, or the commit.
func Version() string {
	v, commit := Built()
	if v == "(devel)" && commit != "" {
		v += " " + commit
	}
	return v
}

// OwnProgram is the file that this process was started from; empty where that
// cannot be found out.
func OwnProgram() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// ThisMachine names the machine as far as processes can be looked up on it: a
// boot, and a pid namespace, since a container shares the first and not the
// second. Empty where that cannot be told: then nobody is ever "of this machine".
func ThisMachine() string {
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
