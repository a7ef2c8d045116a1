package guard

import (
	"os"
	"syscall"
)

// A guard makes a cgroup (version 2) for itself, where it may: all its descendants are in there, including those
// that have left its session, its parents, its pipes and its environment. The name says whose it is, so that a
// later instance finds the processes of a guard that was killed, and ends them all by one write. Without it they
// are found by parents, sessions, pipes and MarkName.

const (
	cgroupPrefix = "bellhop-guard-"
	deepest      = 12 // levels of cgroups that are looked through
)

// Cgroup is the directory of the cgroup of the guard with this pid and start,
// which this process has started; empty where there can be none.
func Cgroup(pid int, start uint64) string {
	dir := ownCgroup()
	if dir == "" {
		return ""
	}
	name := cgroupName(pid, start)
	if name == "" {
		return ""
	}
	return dir + "/" + name
}

// cgroupName names a guard of this machine by its pid namespace, pid and start.
func cgroupName(pid int, start uint64) string {
	space, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil || len(space) < 7 {
		return ""
	}
	return cgroupPrefix + space[5:len(space)-1] + "-" + decimal(pid) + "-" + decimal(int(start))
}

// enterCgroup makes this guard's cgroup and moves there; leave moves it back and
// removes the cgroup, if nothing is in it any more. dir is empty where there can be none.
func enterCgroup() (dir string, leave func()) {
	nothing := func() {}
	above := ownCgroup()
	stat, ok := ReadStat(syscall.Getpid())
	name := cgroupName(syscall.Getpid(), stat.Start)
	if above == "" || !ok || name == "" {
		return "", nothing
	}
	dir = above + "/" + name
	if syscall.Mkdir(dir, 0o755) != nil {
		return "", nothing // a container's are read-only, as a rule
	}
	// Before Linux 5.14 there is no cgroup.kill.
	if syscall.Access(dir+"/cgroup.kill", 2) != nil || writeFile(dir+"/cgroup.procs", "0") != nil {
		_ = syscall.Rmdir(dir)
		return "", nothing
	}
	return dir, func() {
		if writeFile(above+"/cgroup.procs", "0") == nil || writeFile(above+"/"+servesName+"/cgroup.procs", "0") == nil {
			removeCgroup(dir, 0)
		}
	}
}

// MayUseCgroups tells why guards that this process starts have no cgroup; nil: they have one.
func MayUseCgroups() error {
	above := ownCgroup()
	if above == "" {
		return syscall.ENOSYS
	}
	dir := above + "/" + cgroupPrefix + "try-" + decimal(syscall.Getpid())
	if err := syscall.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() { _ = syscall.Rmdir(dir) }()
	if err := syscall.Access(dir+"/cgroup.kill", 2); err != nil {
		return syscall.ENOSYS
	}
	return nil
}

// KillCgroup kills all that is in a guard's cgroup and in those below it, removes
// what is empty, and gives the processes that it has found. Call it until there are none.
func KillCgroup(dir string) (pids []int) {
	if dir == "" {
		return nil
	}
	if pids = inCgroup(dir, 0); len(pids) > 0 {
		_ = writeFile(dir+"/cgroup.kill", "1")
	}
	removeCgroup(dir, 0)
	return pids
}

func removeCgroup(dir string, depth int) {
	eachBelow(dir, depth, func(below string) { removeCgroup(below, depth+1) })
	_ = syscall.Rmdir(dir) // not while anything is in it
}

// inCgroup lists the processes of a cgroup and of those below it.
func inCgroup(dir string, depth int) (pids []int) {
	eachBelow(dir, depth, func(below string) { pids = append(pids, inCgroup(below, depth+1)...) })
	eachPid(dir, func(pid int) { pids = append(pids, pid) })
	return pids
}

// deadCgroups are those of guards of this machine, and of this pid namespace, that are dead.
func deadCgroups() (dirs []string) {
	mount, _ := cgroupMount()
	prefix := cgroupName(0, 0)
	if mount == "" || len(prefix) < len("-0-0") {
		return nil
	}
	prefix = prefix[:len(prefix)-len("0-0")]
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		eachBelow(dir, depth, func(below string) {
			name := below[len(dir)+1:]
			if len(name) > len(prefix) && name[:len(prefix)] == prefix {
				text := []byte(name[len(prefix):])
				pid, used := number(text)
				if used > 0 && used < len(text) {
					start, more := number(text[used+1:])
					if more > 0 && isDead(int(pid), start) {
						dirs = append(dirs, below)
						return // what is below goes with it
					}
				}
			}
			look(below, depth+1)
		})
	}
	look(mount, 0)
	return dirs
}

func eachBelow(dir string, depth int, f func(dir string)) {
	if depth >= deepest {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() {
			f(dir + "/" + entry.Name())
		}
	}
}

// ownCgroup is the directory of this process's cgroup; empty where there is none
// of version 2, or none that can be seen. Of a scheduler that has left it for its own part, it is the one above.
func ownCgroup() string {
	mount, root := cgroupMount()
	if mount == "" {
		return ""
	}
	path := ""
	eachLine(readSome("/proc/self/cgroup", nil), func(line string) {
		if len(line) > 3 && line[:3] == "0::" {
			path = line[3:]
		}
	})
	if path == "" || contains(path, "/..") {
		return ""
	}
	if root != "/" { // a part of the tree is mounted
		if len(path) < len(root) || path[:len(root)] != root {
			return ""
		}
		path = path[len(root):]
	}
	if part := "/" + servesName; len(path) >= len(part) && path[len(path)-len(part):] == part {
		path = path[:len(path)-len(part)]
	}
	if path == "/" {
		path = ""
	}
	return mount + path
}

// cgroupMount is where the tree of version 2 is mounted, and which part of it.
func cgroupMount() (mount, root string) {
	eachLine(readSome("/proc/self/mountinfo", nil), func(line string) {
		// 40 30 0:37 ROOT MOUNT rw,relatime [more]… - cgroup2 cgroup2 rw
		fields := split(line)
		for i := 6; i+1 < len(fields); i++ {
			if mount == "" && fields[i] == "-" && fields[i+1] == "cgroup2" {
				root, mount = fields[3], fields[4]
			}
		}
	})
	return mount, root
}

func eachLine(text []byte, f func(line string)) {
	for from, to := 0, 0; to <= len(text); to++ {
		if to == len(text) || text[to] == '\n' {
			if to > from {
				f(string(text[from:to]))
			}
			from = to + 1
		}
	}
}

func contains(s, part string) bool {
	for i := range len(s) - len(part) + 1 {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

func writeFile(path, text string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return err
}
