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

const instanceFlag = "--instance"

// leftoverGrace is what a guard gets to kill its tree after SIGTERM, before
// both are killed from outside.
const leftoverGrace = time.Second

// Leftovers lists the living guards of an instance on this machine. Those of
// a dead instance end by themselves within a second; what is listed later is
// stuck.
func Leftovers(instance scheduler.InstanceID) (guards []int) {
	guard.EachProcess(func(pid int) {
		if isGuardOf(pid, instance) {
			guards = append(guards, pid)
		}
	})
	return guards
}

func isGuardOf(pid int, instance scheduler.InstanceID) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // empty for a zombie
	if err != nil {
		return false
	}
	args := bytes.Split(b, []byte{0})
	if string(args[0]) != guard.Name {
		return false
	}
	i := slices.IndexFunc(args, func(a []byte) bool { return string(a) == instanceFlag })
	return i > 0 && i+1 < len(args) && string(args[i+1]) == strconv.FormatInt(int64(instance), 10)
}

// KillLeftovers kills what an instance that is dead has left running on this
// machine and returns when all of it is dead, or ctx is over: then the error
// names what still lives. Its jobs must not be taken over before.
func KillLeftovers(ctx context.Context, instance scheduler.InstanceID) error {
	signalGuards(instance, syscall.SIGTERM)
	forceAt := time.Now().Add(leftoverGrace)
	known := map[int]guard.Stat{}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		guards := Leftovers(instance)
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
			signalGuards(instance, syscall.SIGKILL)
			for _, pid := range alive {
				signalIf(pid, syscall.SIGKILL, func() bool { return same(pid, known[pid]) })
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill what instance %d left behind: processes %v still live: %w", instance, append(guards, alive...), ctx.Err())
		case <-tick.C:
		}
	}
}

func signalGuards(instance scheduler.InstanceID, sig syscall.Signal) {
	for _, pid := range Leftovers(instance) {
		signalIf(pid, sig, func() bool { return isGuardOf(pid, instance) })
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
