package agents

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

const (
	instanceFlag  = "--instance"
	schedulerFlag = "--scheduler"
)

// process names a process of this machine for good: its pid and its start in
// the kernel's ticks since boot.
func process(pid int, start string) string { return strconv.Itoa(pid) + ":" + start }

// thisProcess is the scheduler, as its guards name it. Empty when it cannot be
// told; then its guards are nobody's leftovers.
func thisProcess() string {
	s, ok := guard.ReadStat(os.Getpid())
	if !ok {
		return ""
	}
	return process(os.Getpid(), strconv.FormatUint(s.Start, 10))
}

// leftoverGrace is what a guard gets to kill its tree after SIGTERM, before
// both are killed from outside.
const leftoverGrace = time.Second

// Leftovers lists the living guards of an instance of this machine. Those of
// a dead instance end by themselves within a second; what is listed later is
// stuck. An instance's number alone would not name it: the instances of another
// database have the same numbers.
func Leftovers(owner scheduler.Suspect) (guards []int) {
	guard.EachProcess(func(pid int) {
		if isGuardOf(pid, owner) {
			guards = append(guards, pid)
		}
	})
	return guards
}

func isGuardOf(pid int, owner scheduler.Suspect) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // empty for a zombie
	if err != nil {
		return false
	}
	args := bytes.Split(b, []byte{0})
	if string(args[0]) != guard.Name {
		return false
	}
	has := func(flag, value string) bool {
		i := slices.IndexFunc(args, func(a []byte) bool { return string(a) == flag })
		return i > 0 && i+1 < len(args) && string(args[i+1]) == value
	}
	return has(instanceFlag, strconv.FormatInt(int64(owner.ID), 10)) && has(schedulerFlag, process(owner.Pid, owner.ProcessStart))
}

// KillLeftovers kills what an instance that is dead has left running on this
// machine and returns when all of it is dead, or ctx is over: then the error
// names what still lives. Its jobs must not be taken over before.
func KillLeftovers(ctx context.Context, owner scheduler.Suspect) error {
	signalGuards(owner, syscall.SIGTERM)
	forceAt := time.Now().Add(leftoverGrace)
	known := map[int]guard.Stat{}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		guards := Leftovers(owner)
		for _, g := range guards {
			remember(known, append(guard.Descendants(g), g))
		}
		alive := living(known)
		if len(guards) == 0 && len(alive) == 0 {
			return nil
		}
		if time.Now().After(forceAt) {
			for _, g := range guards {
				guard.KillTree(g)
			}
			signalGuards(owner, syscall.SIGKILL)
			for _, pid := range alive {
				signalIf(pid, syscall.SIGKILL, func() bool { return same(pid, known[pid]) })
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill what instance %d left behind: processes %v still live: %w", owner.ID, append(guards, alive...), ctx.Err())
		case <-tick.C:
		}
	}
}

func signalGuards(owner scheduler.Suspect, sig syscall.Signal) {
	for _, pid := range Leftovers(owner) {
		signalIf(pid, sig, func() bool { return isGuardOf(pid, owner) })
	}
}

// signalIf pins the process before it looks whether it is the one meant.
func signalIf(pid int, sig syscall.Signal, meant func() bool) {
	fd, err := guard.OpenPidFD(pid)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	if meant() {
		_ = guard.SignalPidFD(fd, sig)
	}
}

func remember(known map[int]guard.Stat, pids []int) {
	for _, pid := range pids {
		if s, ok := guard.ReadStat(pid); ok {
			known[pid] = s
		}
	}
}

func living(known map[int]guard.Stat) (pids []int) {
	for pid, was := range known {
		if same(pid, was) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// same reports whether pid still is the process it was, and lives.
func same(pid int, was guard.Stat) bool {
	s, ok := guard.ReadStat(pid)
	return ok && s.Start == was.Start && !s.Dead()
}
