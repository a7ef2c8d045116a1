package guard

import "syscall"

// ReadStat looks at a process; ok is false when there is none of that pid.
func ReadStat(pid int) (s Stat, ok bool) {
	b, err := readAll("/proc/"+decimal(pid)+"/stat", make([]byte, 0, 512))
	if err != nil {
		return Stat{}, false
	}
	end := len(b) - 1 // the name may hold blanks and brackets: look from behind
	for end >= 0 && b[end] != ')' {
		end--
	}
	if end < 0 || end+2 >= len(b) {
		return Stat{}, false
	}
	s.State = b[end+2]
	field := 3
	for i := end + 3; i < len(b); i++ {
		if b[i] != ' ' {
			continue
		}
		field++
		n, _ := number(b[i+1:])
		switch field {
		case 4:
			s.Parent = int(n)
		case 6:
			s.Session = int(n)
		case 22:
			s.Start = n
		case 23:
			s.Leaving = n == 0
			return s, true
		}
	}
	return Stat{}, false
}

// children lists the direct children of a process, as its threads list them.
func children(pid int) []int {
	var pids []int
	var b []byte
	listed := false
	task := "/proc/" + decimal(pid) + "/task"
	eachNumber(task, func(tid int) {
		var err error
		b, err = readAll(task+"/"+decimal(tid)+"/children", b[:0])
		listed = listed || err == nil
		for i := 0; i < len(b); {
			n, used := number(b[i:])
			if used == 0 {
				break
			}
			pids = append(pids, int(n))
			i += used + 1
		}
	})
	if !listed {
		return childrenByScan(pid)
	}
	return pids
}

// ownChildren lists the children of this process, which are all the main
// thread's: it alone forks, and orphans are given to it. ok is false when they
// could not be listed.
func ownChildren() (pids []int, ok bool) {
	self := decimal(syscall.Getpid())
	b, err := readAll("/proc/"+self+"/task/"+self+"/children", make([]byte, 0, 1024))
	if err == syscall.ENOENT { // a kernel without CONFIG_PROC_CHILDREN
		return childrenByScan(syscall.Getpid()), true
	}
	for i := 0; i < len(b); {
		n, used := number(b[i:])
		if used == 0 {
			break
		}
		pids = append(pids, int(n))
		i += used + 1
	}
	return pids, err == nil
}

// childrenByScan is for kernels without CONFIG_PROC_CHILDREN.
func childrenByScan(parent int) (pids []int) {
	EachProcess(func(pid int) {
		if s, ok := ReadStat(pid); ok && s.Parent == parent {
			pids = append(pids, pid)
		}
	})
	return pids
}

// EachProcess calls f with every pid that /proc lists.
func EachProcess(f func(pid int)) { eachNumber("/proc", f) }

func eachNumber(dir string, f func(int)) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	var buf [4096]byte
	var names []string
	for {
		n, err := syscall.ReadDirent(fd, buf[:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if v, used := number([]byte(name)); used > 0 && used == len(name) {
				f(int(v))
			}
		}
	}
}
