package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

// limited is a bench whose type has limits. told gets what cannot be limited.
func limited(t *testing.T, spec Spec, controller string) (b *bench, told *[]string) {
	t.Helper()
	if err := guard.MayLimit(controller); err != nil {
		t.Skipf("NOT TESTED: limits of %s: %v; boot with cgroup version 2 alone", controller, err)
	}
	b, told = setup(t, spec), new([]string)
	b.launcher.unlimited.tell = func(typ scheduler.TypeName, host scheduler.HostName, why string) {
		*told = append(*told, fmt.Sprint(typ, " ", host, ": ", why))
	}
	return b, told
}

// An agent that takes more memory than it may is killed with all that it has started, and its end says why. Its
// neighbours go on.
func TestLimits_AnAgentTakesTooMuchMemory(t *testing.T) {
	t.Parallel()
	spec := sh(t, `echo OK; while read -r l; do sleep 1000 & echo $! >"$l"; x=0123456789; while :; do x=$x$x; done; done`)
	spec.Memory = 32 << 20
	b, told := limited(t, spec, "memory")
	one, other := b.launch(), b.launch()
	one.await(scheduler.EventReady)
	other.await(scheduler.EventReady)
	file := filepath.Join(b.dir, "pid")
	one.feed(line(1, file))
	end := one.await(scheduler.EventExited)
	if want := "killed: it took more memory than the 32MB that it may (agents[].memory)"; end.Error != want || end.Signal != 9 {
		t.Errorf("it ended as %+v, want %q", end, want)
	}
	allDead(t, 0, pidIn(t, file))
	if !alive(other.Pid()) || len(*told) > 0 {
		t.Errorf("its neighbour lives: %v; told %q", alive(other.Pid()), *told)
	}
}

// A child and all that it starts are in a cgroup of their own, which has its limit, and is gone after it.
func TestLimits_AChildsShareOfTheProcessors(t *testing.T) {
	t.Parallel()
	spec := sh(t, `echo OK; while read -r l; do sh -c 'sed -n s/^0:://p /proc/self/cgroup >'"$l"; echo OK; done`)
	spec.CPU = 1.5
	b, told := limited(t, spec, "cpu")
	c := b.launch()
	c.await(scheduler.EventReady)
	file := filepath.Join(b.dir, "group")
	c.feed(line(1, file))
	c.await(scheduler.EventAnswered)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := cgroupAt(t, strings.TrimSpace(string(text)))
	if got, err := os.ReadFile(filepath.Join(dir, "cpu.max")); string(got) != "150000 100000\n" {
		t.Errorf("%s has %q, %v; told %q", dir, got, err, *told)
	}
	c.Close()
	c.await(scheduler.EventExited)
	eventually(t, patience, "the cgroup is gone", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}

// cgroupAt is the directory of a cgroup of version 2.
func cgroupAt(t *testing.T, path string) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); strings.Contains(line, " - cgroup2 ") {
			return filepath.Join(f[4], path)
		}
	}
	t.Fatal("no cgroup of version 2 is mounted")
	return ""
}

// Of an agent that cannot be limited it is told once for its type and host, and the agent runs.
func TestLimits_WhatCannotBeLimitedIsTold(t *testing.T) {
	t.Parallel()
	spec := sh(t, `echo OK; while read -r l; do echo OK; done`)
	spec.Memory, spec.CPU = 32<<20, 1
	b, _ := afar(t, spec)
	told := make(chan string, 8)
	b.launcher.unlimited.tell = func(typ scheduler.TypeName, host scheduler.HostName, why string) {
		told <- fmt.Sprint(typ, " ", host, ": ", why)
	}
	for range 2 {
		c := b.launch()
		c.await(scheduler.EventReady)
		c.Close()
		c.await(scheduler.EventExited)
	}
	select {
	case got := <-told:
		if !strings.HasSuffix(got, ": agents on hosts with connect are not limited") || len(told) > 0 {
			t.Errorf("told %q, and %d more", got, len(told))
		}
	case <-time.After(patience):
		t.Error("nothing was told")
	}
}
