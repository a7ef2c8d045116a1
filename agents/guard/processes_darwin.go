package guard

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB

// ReadStat looks at a process; ok is false when there is none of that pid.
func ReadStat(pid int) (s Stat, ok bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return Stat{}, false
	}
	return statOf(p), true
}

func statOf(p *unix.KinfoProc) Stat {
	s := Stat{State: 'R', Parent: int(p.Eproc.Ppid)}
	s.Start = uint64(p.Proc.P_starttime.Sec)*1e6 + uint64(p.Proc.P_starttime.Usec)
	s.Session, _ = unix.Getsid(int(p.Proc.P_pid))
	if p.Proc.P_stat == zombie {
		s.State = 'Z'
	}
	return s
}

// EachProcess calls f with every pid of this machine.
func EachProcess(f func(pid int)) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return
	}
	for i := range all {
		f(int(all[i].Proc.P_pid))
	}
}

// children lists the direct children of a process.
func children(parent int) (pids []int) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	for i := range all {
		if int(all[i].Eproc.Ppid) == parent {
			pids = append(pids, int(all[i].Proc.P_pid))
		}
	}
	return pids
}

// pidSpace names the start of the machine: where a pid and its start name one process.
func pidSpace() string {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || boot == "" {
		return ""
	}
	return "0:" + boot
}

// IsNear: all processes that are seen are of this machine.
func IsNear(int) bool { return true }

// environOf appends the environment that a process was started with, its pairs ended by zeros. That of programs of
// the system itself is hidden.
func environOf(pid int, b []byte) []byte {
	_, environ := startedWith(pid)
	return append(b, environ...)
}

// ArgvOf gives the arguments of a process, ended by zeros; empty for a zombie.
func ArgvOf(pid int) []byte {
	argv, _ := startedWith(pid)
	return argv
}

func startedWith(pid int) (argv, environ []byte) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, nil
	}
	return splitProcArgs(b)
}

func commOf(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return unix.ByteSliceToString(p.Proc.P_comm[:])
}

// parentOfStray: a stray was given to launchd.
func parentOfStray(pid int) int {
	s, _ := ReadStat(pid)
	return s.Parent
}

// orphansOf are what else lives in the session of an agent. No other session gets its number while one of them lives.
func orphansOf(agent int) (pids []int) {
	if agent == 0 {
		return nil
	}
	return inSessions(func(session int) bool { return session == agent })
}

// strayPids are those of the sessions of our agents that are not the agents themselves.
func (g *wards) strayPids() (pids []int, known bool) {
	agents := map[int]bool{}
	for _, w := range g.byTag {
		if w.ending && w.agent != 0 {
			agents[w.agent] = true
		}
	}
	if len(agents) == 0 {
		return nil, true
	}
	return inSessions(func(session int) bool { return agents[session] }), true
}

// inSessions lists the living processes of sessions, without the process that began each.
func inSessions(such func(session int) bool) (pids []int) {
	EachProcess(func(pid int) {
		session, err := unix.Getsid(pid)
		if err != nil || session == pid || !such(session) {
			return
		}
		if s, ok := ReadStat(pid); ok && !s.Dead() {
			pids = append(pids, pid)
		}
	})
	return pids
}

// There are no cgroups here.

// Cgroup is empty: there are none.
func Cgroup(int, uint64) string { return "" }

// MayUseCgroups tells why guards that this process starts have no cgroup.
func MayUseCgroups() error { return syscall.ENOTSUP }

// MayLimit tells why the memory and the CPU time of agents cannot be limited.
func MayLimit(string) error { return syscall.ENOTSUP }

// KillCgroup has nothing to kill.
func KillCgroup(string) []int { return nil }

func enterCgroup() (dir string, leave func()) { return "", func() {} }

type rooms struct{ dir string }

func (*rooms) room(q *Request) (dir string, ok bool) { return "", q.Memory == 0 && q.CPU == 0 }

func overMemory(string) bool { return false }

func leaveRoom(string) {}

func into(string, *syscall.SysProcAttr) (done func(), err error) { return func() {}, nil }

func deadCgroups() []string { return nil }

func inCgroup(string, int) []int { return nil }
