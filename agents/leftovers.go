package agents

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

const (
	instanceFlag  = "--instance"
	schedulerFlag = "--scheduler"
	hostFlag      = "--host" // of a guard whose agent is on another host
)

// process names a process of this machine for good: its pid and its start in
// the kernel's ticks since boot.
func process(pid int, start string) string { return strconv.Itoa(pid) + ":" + start }

// thisProcess is the scheduler, as its guards name it. Empty if it cannot be told; then its guards are not
// leftovers.
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

// farGrace is the same for guards whose agents are on another host: they end
// when it is certain that nothing lives there, be the line dead.
const farGrace = guard.LineLease + 3*time.Second

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

// Strays lists the living guards of this machine whose scheduler is dead. They
// end by themselves within moments; those that stay are stuck. Guards in
// containers know their scheduler by a number of their own, and are left out.
func Strays() (guards []int) {
	guard.EachProcess(func(pid int) {
		args := guardArgs(pid)
		if args == nil || !guard.IsNear(pid) {
			return
		}
		pidText, start, ok := strings.Cut(valueOf(args, schedulerFlag), ":")
		owner, err := strconv.Atoi(pidText)
		if !ok || err != nil {
			return
		}
		if s, ok := guard.ReadStat(owner); !ok || s.Dead() || strconv.FormatUint(s.Start, 10) != start {
			guards = append(guards, pid)
		}
	})
	return guards
}

// isFar: the agent of this guard is on another host.
func isFar(pid int) bool {
	return bytes.Contains(guard.ArgvOf(pid), []byte("\x00"+hostFlag+"\x00"))
}

func isGuardOf(pid int, owner scheduler.Suspect) bool {
	args := guardArgs(pid)
	return valueOf(args, instanceFlag) == strconv.FormatInt(int64(owner.ID), 10) &&
		valueOf(args, schedulerFlag) == process(owner.Pid, owner.ProcessStart)
}

// guardArgs is the command line of a guard; nil if that is no living guard.
func guardArgs(pid int) []string {
	args := strings.Split(string(guard.ArgvOf(pid)), "\x00")
	if args[0] != guard.Name {
		return nil
	}
	return args
}

// valueOf is what follows a flag; empty where it is not there.
func valueOf(args []string, flag string) string {
	i := slices.Index(args, flag)
	if i < 1 || i+1 >= len(args) {
		return ""
	}
	return args[i+1]
}

// KillLeftovers kills what an instance that is dead has left running on this
// machine and returns when all of it is dead, or ctx is over: then the error
// names what still lives. Its jobs must not be taken over before.
func KillLeftovers(ctx context.Context, owner scheduler.Suspect) error {
	signalGuards(owner, syscall.SIGTERM)
	began := time.Now()
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
			// Their guards may have been killed with it; then what they guarded still runs.
			if alive = killUnguarded(ctx); len(alive) == 0 {
				return nil
			}
			return fmt.Errorf("kill what instance %d left behind: processes %v still live: %w", owner.ID, alive, ctx.Err())
		}
		if time.Since(began) > leftoverGrace {
			spared := 0
			for _, g := range guards {
				if isFar(g) && time.Since(began) < farGrace {
					spared++
					continue
				}
				guard.KillTree(g)
				signalIf(g, syscall.SIGKILL, func() bool { return isGuardOf(g, owner) })
			}
			for _, pid := range alive {
				if spared > 0 {
					break // one of them, or a way of theirs
				}
				signalIf(pid, syscall.SIGKILL, func() bool { return same(pid, known[pid]) })
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill what instance %d left behind: processes %v still live: %w", owner.ID,
				append(guards, alive...), ctx.Err())
		case <-tick.C:
		}
	}
}

func signalGuards(owner scheduler.Suspect, sig syscall.Signal) {
	for _, pid := range Leftovers(owner) {
		signalIf(pid, sig, func() bool { return isGuardOf(pid, owner) })
	}
}

// Reap kills what lives on of agents of this machine whose guards were killed,
// whichever instance they were of, and tells how many processes that were.
func Reap(ctx context.Context) (n int, err error) {
	n = len(guard.Unguarded())
	if alive := killUnguarded(ctx); len(alive) > 0 {
		return n, fmt.Errorf("processes %v of agents whose guard is dead still live: %w", alive, ctx.Err())
	}
	return n, nil
}

// signalIf pins the process before it looks whether it is the one meant.
func signalIf(pid int, sig syscall.Signal, meant func() bool) {
	pinned, err := guard.Pin(pid)
	if err != nil {
		return
	}
	defer pinned.Free()
	if meant() {
		_ = pinned.Signal(sig)
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
