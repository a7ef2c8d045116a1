package guard

import (
	"syscall"
	"time"
)

// MarkName is a variable in the environment of each agent. What the agent starts
// inherits it: so what is left of an agent can be told from other processes when
// its guard was killed and could not end it. It names the guard for good: by the
// start of its machine, its pid namespace, its pid and its own start.
const MarkName = "BELLHOP_GUARD"

// markMost is how much of an environment is looked at.
const markMost = 256 << 10

// Mark is that of the guard with this pid and start, of this machine; empty
// where there can be none.
func Mark(pid int, start uint64) string {
	space := pidSpace()
	if space == "" {
		return ""
	}
	return MarkName + "=" + decimal(pid) + ":" + decimal(int(start)) + ":" + space
}

var ownMark string

// mark is that of this guard, which its main goroutine asks for.
func mark() string {
	if ownMark == "" {
		s, _ := ReadStat(syscall.Getpid())
		ownMark = Mark(syscall.Getpid(), s.Start)
	}
	return ownMark
}

// Marked lists the living processes that the guard with this mark had started,
// or that descend from them.
func Marked(mark string) []int {
	if mark == "" {
		return nil
	}
	return leftovers(func(m string) bool { return m == mark })
}

// Unguarded lists the living processes whose guard is dead: nothing else would end them. It leaves out those of
// other machines, of containers, and of other users, and those that carry this process's own mark.
func Unguarded() []int {
	dead := map[string]bool{}
	if own := markIn(environOf(syscall.Getpid(), nil)); own != "" {
		dead[own] = false
	}
	ours := Mark(1, 1)
	all := leftovers(func(m string) bool {
		is, known := dead[m]
		if !known {
			is = sameMachine(m, ours) && guardIsDead(m)
			dead[m] = is
		}
		return is
	})
	for _, dir := range deadCgroups() {
		for _, pid := range inCgroup(dir, 0) {
			if !has(all, pid) {
				all = append(all, pid)
			}
		}
	}
	return all
}

func has(pids []int, pid int) bool {
	for _, other := range pids {
		if other == pid {
			return true
		}
	}
	return false
}

// KillUnguarded kills what Unguarded lists, and gives it. Call it until nothing is left.
func KillUnguarded() (pids []int) {
	pids = Unguarded()
	for _, dir := range deadCgroups() {
		KillCgroup(dir)
	}
	for _, pid := range pids {
		KillIf(pid, func() bool {
			mark := markIn(environOf(pid, nil))
			return mark != "" && guardIsDead(mark)
		})
	}
	return pids
}

// KillIf kills a process and its descendants. The process is pinned, and held, before the last look at it: its pid
// cannot be reused in between.
func KillIf(pid int, meant func() bool) {
	pinned, err := Pin(pid)
	if err != nil {
		return
	}
	defer pinned.Free()
	if !meant() || pinned.Signal(syscall.SIGSTOP) != nil {
		return
	}
	KillTree(pid)
	_ = pinned.Signal(syscall.SIGKILL)
}

// reapMost bounds a far guard's wait for what does not die.
const reapMost = 2 * time.Second

// reapMarked kills what lives on here of agents whose guards were killed.
func reapMarked() {
	for till := time.Now().Add(reapMost); len(KillUnguarded()) > 0 && time.Now().Before(till); {
		time.Sleep(5 * time.Millisecond)
	}
}

// leftovers lists the living processes with such a mark that were left behind. A process that hands work to another
// program (at, sbatch) gives it the mark too, with the rest of the environment. That work belongs to that program:
// what was left behind went to the machine's init, or to its stand-in, and a process with another parent moved of
// its own will.
func leftovers(such func(mark string) bool) (pids []int) {
	marks := map[int]string{}
	eachMarked(func(pid int, mark string) {
		if such(mark) {
			marks[pid] = mark
		}
	})
	if len(marks) == 0 {
		return nil
	}
	above := ancestors()
	for pid, mark := range marks {
		if pid == syscall.Getpid() || above[pid] {
			continue // a process that kills its own ancestors does not get far
		}
		for top := pid; ; {
			s, ok := ReadStat(top)
			if !ok {
				break // gone since; the next look finds its children elsewhere
			}
			if marks[s.Parent] != mark {
				if takesOrphans(s.Parent, above) {
					pids = append(pids, pid)
				}
				break
			}
			top = s.Parent
		}
	}
	return pids
}

// ancestors of this process: one of them may be a subreaper, which nothing tells.
func ancestors() map[int]bool {
	all := map[int]bool{}
	for pid := syscall.Getpid(); ; {
		s, ok := ReadStat(pid)
		if !ok || s.Parent == 0 || all[s.Parent] {
			return all
		}
		pid = s.Parent
		all[pid] = true
	}
}

// takesOrphans: a process whose parent is this one has lost its own, or is about to.
func takesOrphans(parent int, above map[int]bool) bool {
	if parent <= 1 || above[parent] {
		return true
	}
	s, ok := ReadStat(parent)
	if !ok || s.Dead() || s.Leaving {
		return true
	}
	comm := commOf(parent)
	return comm == "systemd" || comm == Name // a user's own manager; a guard in whose tree that one was
}

// sameMachine: what follows pid and start is the same in both.
func sameMachine(a, b string) bool {
	rest := func(mark string) string {
		colons := 0
		for i := range len(mark) {
			if mark[i] == ':' {
				if colons++; colons == 2 {
					return mark[i:]
				}
			}
		}
		return ""
	}
	return rest(a) != "" && rest(a) == rest(b)
}

// guardIsDead: where it cannot be told, it is not. A guard of another user may
// be hidden in /proc, but there.
func guardIsDead(mark string) bool {
	text := []byte(mark[len(MarkName)+1:])
	pid, used := number(text)
	if used == 0 || used >= len(text) || text[used] != ':' {
		return false
	}
	start, more := number(text[used+1:])
	return more > 0 && isDead(int(pid), start)
}

func isDead(pid int, start uint64) bool {
	if s, ok := ReadStat(pid); ok {
		return s.Dead() || s.Start != start
	}
	return syscall.Kill(pid, 0) == syscall.ESRCH
}

// eachMarked calls f with every living process of this machine, or container, that has a mark.
func eachMarked(f func(pid int, mark string)) {
	buf := make([]byte, 0, 4096)
	EachProcess(func(pid int) {
		buf = environOf(pid, buf[:0]) // empty for a zombie
		mark := markIn(buf)
		if mark == "" || !IsNear(pid) {
			return
		}
		if s, ok := ReadStat(pid); ok && !s.Dead() {
			f(pid, mark)
		}
	})
}

func readSome(path string, b []byte) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return b
	}
	defer syscall.Close(fd)
	for len(b) < markMost {
		if len(b) == cap(b) {
			b = append(b, make([]byte, 4096)...)[:len(b)]
		}
		n, err := syscall.Read(fd, b[len(b):cap(b)])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		b = b[:len(b)+n]
	}
	return b
}

// markIn finds the mark in an environment; empty: there is none.
func markIn(environ []byte) string {
	for from := 0; from < len(environ); {
		to := from
		for to < len(environ) && environ[to] != 0 {
			to++
		}
		if pair := environ[from:to]; len(pair) > len(MarkName) && string(pair[:len(MarkName)+1]) == MarkName+"=" {
			return string(pair)
		}
		from = to + 1
	}
	return ""
}
