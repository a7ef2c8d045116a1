package agents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// instance is one as the database knows it.
func instance(id scheduler.InstanceID, pid int) scheduler.Suspect {
	s, _ := guard.ReadStat(pid)
	return scheduler.Suspect{ID: id, Pid: pid, ProcessStart: strconv.FormatUint(s.Start, 10)}
}

func TestGuard_LeftoversOfADeadInstanceAreKilled(t *testing.T) {
	t.Parallel()
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	cmd := startScheduler(t, spec, 2, 4712)
	dead := instance(4712, cmd.Process.Pid)
	guards := Leftovers(dead)
	pids := append([]int{pidIn(t, filepath.Join(dir, "daemon"))}, guards...)
	for _, g := range guards {
		pids = append(pids, guard.Descendants(g)...)
	}
	stop(t, guards[0], syscall.SIGSTOP) // one that cannot see its scheduler's end
	stop(t, cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := KillLeftovers(ctx, dead); err != nil {
		t.Fatal(err)
	}
	allDead(t, 0, pids...)
	if left := Leftovers(dead); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestGuard_LeftoversOfTheSameNumberElsewhereLive: another database on the same
// machine has an instance of the same number.
func TestGuard_LeftoversOfTheSameNumberElsewhereLive(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, upper))
	b.launcher.SetInstance(4714)
	c := b.launch()
	c.await(scheduler.EventReady)
	other := instance(4714, os.Getpid())
	other.Pid++
	if err := KillLeftovers(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	c.feed(line(1, "x"))
	c.await(scheduler.EventAnswered)
}

func TestGuard_KillLeftoversNamesWhatItCouldNotKillInTime(t *testing.T) {
	t.Parallel()
	b := setup(t, sh(t, "trap '' TERM\n"+upper))
	b.launcher.SetInstance(4713)
	c := b.launch()
	c.await(scheduler.EventReady)
	stop(t, guardOf(t, c.Pid()), syscall.SIGSTOP)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := KillLeftovers(ctx, instance(4713, os.Getpid())); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), strconv.Itoa(c.Pid())) {
		t.Errorf("error is %v", err)
	}
}
