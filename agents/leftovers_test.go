package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bellhop/agents/guard"
	"bellhop/pgdev/pgtest"
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
	pgtest.Freeze(t, guards[0]) // one that cannot see its scheduler's end
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

// An instance that is killed together with all guards leaves trees that nothing ends: the next instance does. The
// stranger has left the agent's cgroup, where there is one: then its mark alone tells what it is.
func TestGuard_WhatIsLeftWhenGuardsAreKilledTooIsSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := sh(t, `sleep 1000 & echo $! >$1/child
(setsid sh -c 'for all in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do echo $$ >$all; done
echo $$ >'$1'/stranger; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
while [ ! -s $1/stranger ]; do sleep 0.01; done
echo OK; while :; do sleep 1000; done`)
	spec.Command = append(spec.Command, dir)
	cmd := startScheduler(t, spec, 1, 4715)
	dead := instance(4715, cmd.Process.Pid)
	guards := Leftovers(dead)
	if len(guards) != 1 {
		t.Fatalf("guards are %v", guards)
	}
	pids := append(guard.Descendants(guards[0]), guards[0], pidIn(t, filepath.Join(dir, "child")),
		pidIn(t, filepath.Join(dir, "stranger")))
	pgtest.Freeze(t, guards[0]) // so that it does nothing between the two
	stop(t, cmd.Process.Pid, syscall.SIGKILL)
	stop(t, guards[0], syscall.SIGKILL)
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := KillLeftovers(ctx, dead); err != nil {
		t.Fatal(err)
	}
	allDead(t, 0, pids...)
}

// An agent does not outlive its guard, though its scheduler is gone too, and no other one has swept.
func TestGuard_AgentsDieWithAGuardThatIsKilledBesideItsScheduler(t *testing.T) {
	t.Parallel()
	cmd := startScheduler(t, sh(t, "echo OK; while :; do read l || exec sleep 1000; done"), 1, 4716)
	guards := Leftovers(instance(4716, cmd.Process.Pid))
	if len(guards) != 1 {
		t.Fatalf("guards are %v", guards)
	}
	agent := guard.Descendants(guards[0])[0]
	pgtest.Freeze(t, guards[0]) // so that it does nothing between the two
	stop(t, cmd.Process.Pid, syscall.SIGKILL)
	stop(t, guards[0], syscall.SIGKILL)
	_ = cmd.Wait()
	allDead(t, patience, agent)
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
	pgtest.Freeze(t, guardOf(t, c.Pid()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := KillLeftovers(ctx, instance(4713, os.Getpid())); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), strconv.Itoa(c.Pid())) {
		t.Errorf("error is %v", err)
	}
}

// TestGuard_TheSweepSparesWhoseGuardLives: and what only looks like a leftover,
// such as work that an agent has handed to another program with its environment.
func TestGuard_TheSweepSparesWhoseGuardLives(t *testing.T) {
	t.Parallel()
	spec, dir := familyOf(t, "echo OK; while :; do sleep 1000; done")
	c := setup(t, spec).launch() // of another instance, as far as the sweep can tell
	c.await(scheduler.EventReady)
	over := exec.Command("true")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	dead := guard.Mark(over.Process.Pid, 1)
	self, _ := guard.ReadStat(os.Getpid())
	boot := strings.LastIndex(dead, ":")
	space := strings.LastIndex(dead[:boot], ":")
	spared := []int{c.Pid(), pidIn(t, filepath.Join(dir, "daemon"))}
	for what, mark := range map[string]string{
		"of a living guard":          guard.Mark(os.Getpid(), self.Start),
		"of another machine":         dead[:boot] + ":00000000-0000-0000-0000-000000000000",
		"of another pid namespace":   dead[:space] + ":1" + dead[boot:],
		"of nobody":                  guard.MarkName + "=",
		"of somebody else's meaning": guard.MarkName + "=yes",
	} {
		t.Logf("%s: %s", what, mark)
		spared = append(spared, astray(t, mark))
	}
	handed := exec.Command("sleep", "1000") // its parent lives, and is no agent: so it is that one's
	handed.Env = []string{dead}
	if err := handed.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(handed.Process.Kill(), handed.Wait()) })
	spared = append(spared, handed.Process.Pid)
	left := astray(t, dead)
	reused := astray(t, guard.Mark(os.Getpid(), self.Start+1)) // its guard's pid was given to another process
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := Reap(ctx); err != nil {
		t.Fatal(err)
	}
	allDead(t, 0, left, reused)
	for _, pid := range spared {
		if !alive(pid) {
			t.Errorf("process %d was killed", pid)
		}
	}
}

// astray starts a process that has left its parents and their session, with
// such a mark. Whoever sweeps this machine may end it at any time, if it is one to be swept.
func astray(t *testing.T, mark string) (pid int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("sh", "-c", `env "$1" setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >"$0"`, file, mark)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // who writes the number down has no mark
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	pid = pidIn(t, file)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	// Between env and sleep it has no environment for a moment, and would be passed over.
	eventually(t, patience, "it sleeps", func() bool {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return string(comm) == "sleep\n" && strings.Contains(string(environ), mark) || !alive(pid)
	})
	return pid
}
