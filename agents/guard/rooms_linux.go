package guard

import "syscall"

// A ward whose memory or CPU time is limited has a cgroup of its own below the guard's. The kernel limits nothing below
// a cgroup that has both processes and cgroups in it, but for the topmost one. So the guard goes, with the wards that
// are there already, into one cgroup beside them, and the scheduler into another.

const (
	othersName = "others"        // the guard, and its wards without limits
	roomPrefix = "ward-"         // a ward with limits
	servesName = "bellhop-serve" // the scheduler itself, beside its guard's cgroup
	// gathering is how often processes are moved before the guard gives up: each of them may start others meanwhile.
	gathering = 100
)

// rooms are the cgroups of wards with limits.
type rooms struct {
	dir   string // the guard's cgroup; empty: there is none
	tried map[string]bool
	n     int
}

// room makes the cgroup for what a request asks; ok is false where the system does not let the guard limit that. An
// empty one has no limits.
func (r *rooms) room(q *Request) (dir string, ok bool) {
	if q.Memory == 0 && q.CPU == 0 {
		return "", true
	}
	if r.dir == "" || q.Memory > 0 && !r.may("memory") || q.CPU > 0 && !r.may("cpu") {
		return "", false
	}
	r.n++
	dir = r.dir + "/" + roomPrefix + decimal(r.n)
	if syscall.Mkdir(dir, 0o755) != nil {
		return "", false
	}
	if limit(dir, q) != nil {
		_ = syscall.Rmdir(dir)
		return "", false
	}
	return dir, true
}

// limit writes the limits of a cgroup.
func limit(dir string, q *Request) error {
	if q.Memory > 0 {
		if err := writeFile(dir+"/memory.max", decimal(int(q.Memory))+"K"); err != nil {
			return err
		}
		_ = writeFile(dir+"/memory.swap.max", "0") // a kernel without swap has no such file
		if err := writeFile(dir+"/memory.oom.group", "1"); err != nil {
			return err
		}
	}
	if q.CPU > 0 {
		return writeFile(dir+"/cpu.max", decimal(int(q.CPU)*cpuPeriod/1000)+" "+decimal(cpuPeriod))
	}
	return nil
}

// cpuPeriod is over how many µs the kernel counts CPU time.
const cpuPeriod = 100_000

// may reports whether wards can be limited by a controller. It is tried once.
func (r *rooms) may(controller string) bool {
	if may, tried := r.tried[controller]; tried {
		return may
	}
	if r.tried == nil {
		r.tried = map[string]bool{}
	}
	r.tried[controller] = r.divide(controller)
	return r.tried[controller]
}

// divide hands a controller down to the cgroups of wards.
func (r *rooms) divide(controller string) bool {
	above := folderOf(r.dir)
	if above == "" {
		return false
	}
	if !handDown(above, controller) && (!leaveTo(above, above+"/"+servesName) || !handDown(above, controller)) {
		return false
	}
	rest := r.dir + "/" + othersName
	_ = syscall.Mkdir(rest, 0o755) // it may be there
	for range gathering {
		eachPid(r.dir, func(pid int) { _ = writeFile(rest+"/cgroup.procs", decimal(pid)) })
		if handDown(r.dir, controller) {
			return true
		}
	}
	return false
}

// handDown lets the cgroups below one use a controller.
func handDown(dir, controller string) bool {
	return writeFile(dir+"/cgroup.subtree_control", "+"+controller) == nil
}

// leaveTo moves the scheduler, with what descends from it, out of its cgroup into one below; not where other processes
// are in it: it is theirs as well.
func leaveTo(above, dir string) bool {
	scheduler, ours := syscall.Getppid(), true
	eachPid(above, func(pid int) { ours = ours && (pid == scheduler || descends(pid, scheduler)) })
	if !ours || syscall.Mkdir(dir, 0o755) == syscall.EACCES {
		return false
	}
	for range gathering {
		left := 0
		eachPid(above, func(pid int) {
			if left++; writeFile(dir+"/cgroup.procs", decimal(pid)) == nil {
				left--
			}
		})
		if left == 0 {
			return true
		}
	}
	return false
}

// MayLimit tells why agents cannot be limited by a controller, memory or cpu, on this machine; nil: a service with
// Delegate=yes may do so.
func MayLimit(controller string) error {
	mount, _ := cgroupMount()
	if mount == "" {
		return syscall.ENOSYS
	}
	err := error(MissingController(controller))
	eachLine(readSome(mount+"/cgroup.controllers", nil), func(line string) {
		for _, name := range split(line) {
			if name == controller {
				err = nil
			}
		}
	})
	return err
}

// MissingController is a part of cgroup version 2 that a machine lacks.
type MissingController string

func (m MissingController) Error() string { return "cgroup version 2 has no controller " + string(m) }

func descends(pid, from int) bool {
	for range 64 {
		s, ok := ReadStat(pid)
		if !ok || s.Parent == from {
			return true // a dead one stays in no cgroup
		}
		if pid = s.Parent; pid <= 1 {
			return false
		}
	}
	return false
}

// overMemory reports whether the kernel has killed a process of a room for its memory.
func overMemory(dir string) (is bool) {
	eachLine(readSome(dir+"/memory.events", nil), func(line string) {
		if words := split(line); len(words) == 2 && words[0] == "oom_kill" && words[1] != "0" {
			is = true
		}
	})
	return is
}

// leaveRoom removes a room in which nothing lives.
func leaveRoom(dir string) { removeCgroup(dir, 0) }

// into has a process start in a cgroup. done closes what that takes. Without the cgroup it would start without limits.
func into(dir string, attr *syscall.SysProcAttr) (done func(), err error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	attr.UseCgroupFD, attr.CgroupFD = true, fd
	return func() { _ = syscall.Close(fd) }, nil
}

// eachPid visits the processes of a cgroup, without those below it.
func eachPid(dir string, f func(pid int)) {
	text := readSome(dir+"/cgroup.procs", nil)
	for len(text) > 0 {
		pid, used := number(text)
		if used == 0 {
			break
		}
		if pid > 0 { // 0: of another pid namespace
			f(int(pid))
		}
		text = text[min(len(text), used+1):]
	}
}
