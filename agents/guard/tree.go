package guard

import "syscall"

// node is a process seen in the tree, with the parent it was seen under.
type node struct{ pid, parent int }

// KillTree sends SIGKILL to every descendant of root (not to root itself) that
// it finds. All are stopped first, parents before children, so that a fork
// bomb cannot outrun the walk. It does not wait: call it until nothing is left.
func KillTree(root int) { kill(nil, root) }

// killTrees does the same with children of ours, themselves included.
func killTrees(roots []int) {
	tree := make([]node, len(roots))
	for i, pid := range roots {
		tree[i] = node{pid, syscall.Getpid()}
		send(tree[i], syscall.SIGSTOP)
	}
	kill(tree, 0)
}

// kill kills tree, and what descends from it and from root.
func kill(tree []node, root int) {
	for range 20 {
		known := len(tree)
		tree = grow(tree, root)
		for _, n := range tree[known:] {
			send(n, syscall.SIGSTOP)
		}
		if len(tree) == known {
			break
		}
	}
	for _, n := range tree {
		send(n, syscall.SIGKILL)
	}
}

// Descendants lists the pids below root, parents before children, zombies too.
func Descendants(root int) []int {
	tree := grow(nil, root)
	pids := make([]int, len(tree))
	for i, n := range tree {
		pids[i] = n.pid
	}
	return pids
}

// grow adds to tree the descendants of root that are not yet in it.
func grow(tree []node, root int) []node {
	seen := make(map[node]bool, len(tree))
	for _, n := range tree {
		seen[n] = true
	}
	if root != 0 {
		tree = growUnder(tree, seen, root)
	}
	for i := 0; i < len(tree); i++ {
		tree = growUnder(tree, seen, tree[i].pid)
	}
	return tree
}

func growUnder(tree []node, seen map[node]bool, parent int) []node {
	for _, pid := range children(parent) {
		if n := (node{pid, parent}); !seen[n] {
			seen[n] = true
			tree = append(tree, n)
		}
	}
	return tree
}

// send sends sig if the process is still the one seen under that parent. Our
// own children keep their pid until we reap them; any other's could have been
// given to a stranger meanwhile, so it is pinned by a pidfd and looked at again.
func send(n node, sig syscall.Signal) {
	if n.parent == syscall.Getpid() {
		_ = syscall.Kill(n.pid, sig)
		return
	}
	fd, err := OpenPidFD(n.pid)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	if s, ok := ReadStat(n.pid); ok && s.Parent == n.parent {
		_ = SignalPidFD(fd, sig)
	}
}

// OpenPidFD pins a process: the descriptor never means another one.
func OpenPidFD(pid int) (int, error) {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// SignalPidFD signals a pinned process.
func SignalPidFD(fd int, sig syscall.Signal) error {
	_, _, errno := syscall.RawSyscall6(sysPidfdSendSignal, uintptr(fd), uintptr(sig), 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Stat is what /proc/PID/stat says of a process.
type Stat struct {
	State   byte // 'Z' is dead, and only waits for its parent
	Parent  int
	Session int
	Start   uint64 // clock ticks since boot; with the pid it names a process for good
	Leaving bool   // it has given up its memory: it is about to be dead
}

// Dead reports whether the process runs no more.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

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

// number reads the digits at the start of b.
func number(b []byte) (v uint64, used int) {
	for used < len(b) && b[used] >= '0' && b[used] <= '9' {
		v = v*10 + uint64(b[used]-'0')
		used++
	}
	return v, used
}

func decimal(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}
