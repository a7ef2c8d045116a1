package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/agents/guard"
	"bellhop/scheduler"
)

func execSpec(command ...string) Spec { return Spec{Mode: ModeExec, Command: command} }

func execSh(t testing.TB, text string) Spec {
	t.Helper()
	return execSpec(script(t, "#!/bin/sh\n"+text))
}

func TestExec_IsReadyWithoutAProcessAndEndsAtOnce(t *testing.T) {
	t.Parallel()
	c := setup(t, execSpec("true")).launch()
	c.await(scheduler.EventReady)
	if c.Pid() != 0 {
		t.Errorf("there is a process %d", c.Pid())
	}
	c.Close()
	if ev := c.await(scheduler.EventExited); ev.ExitCode != 0 || ev.Told() != "" {
		t.Errorf("exit is %+v", ev)
	}
	c.gone(time.Second)
	c.feed(line(1, "too late"))
	if len(c.Recall()) != 1 || !c.silent() {
		t.Error("a line was lost, or something happened after the exit")
	}
}

func TestExec_ExitCodeIsTheResult(t *testing.T) {
	t.Parallel()
	b := setup(t, execSh(t, `echo "out $1"; printf 'err without an end' >&2; case $1 in segv) kill -SEGV $$;; esac; exit $1`))
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "0"), line(2, "3"), line(3, "segv"))
	want := []struct {
		ok           bool
		code, signal int
		says         string
	}{{true, 0, 0, ""}, {false, 3, 0, "exit status 3: err without an end"}, {false, 139, 11, "killed by signal 11 (segmentation fault): err without an end"}}
	for i, w := range want {
		ev := c.await(scheduler.EventAnswered)
		if ev.Claim.Job != scheduler.JobID(i+1) || ev.OK != w.ok || ev.ExitCode != w.code || ev.Signal != w.signal ||
			ev.Told() != w.says {
			t.Errorf("answer is %+v, want %+v", ev, w)
		}
	}
	for _, e := range b.log() {
		level := map[bool]scheduler.Level{true: scheduler.LevelOut, false: scheduler.LevelErr}[strings.HasPrefix(e.Text, "out ")]
		if e.Level != level || e.Claim.Job == 0 || e.Attempt != 1 {
			t.Errorf("entry is %+v", e)
		}
	}
	if len(b.log()) != 6 {
		t.Errorf("log is %v", b.log())
	}
}

func TestExec_EnvironmentTellsTheJob(t *testing.T) {
	t.Parallel()
	spec := execSpec("sh", "-c", `tr '\0' '\n' </proc/$$/environ; ls -l /proc/$$/fd/0; echo $# args`)
	spec.Env = map[string]string{"COLOUR": "blue"}
	spec.Vars = []string{"SHOE"}
	b := setup(t, spec)
	c := b.launch()
	c.await(scheduler.EventReady)
	l := line(7, "")
	l.HasArgs, l.Key, l.Trace, l.Attempt, l.Vars = false, "k", "00-aa-bb-01", 2, `{"SHOE":"44"}`
	c.feed(l)
	c.await(scheduler.EventAnswered)
	texts := []string{}
	for _, e := range b.log() {
		texts = append(texts, e.Text)
	}
	for _, want := range []string{"BELLHOP_JOB_ID=7", "BELLHOP_KEY=k", "BELLHOP_ATTEMPT=2", "BELLHOP_FENCE=70", "TRACEPARENT=00-aa-bb-01", "COLOUR=blue", "SHOE=44", "0 args"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
	if len(b.logged("-> /dev/null")) != 1 {
		t.Errorf("stdin is not /dev/null: %q", texts)
	}
}

func TestExec_VarsThatAreNotTakenFailTheJob(t *testing.T) {
	t.Parallel()
	spec := execSpec("true")
	spec.Vars = []string{"*", "PYTHONPATH"}
	c := setup(t, spec).launch()
	c.await(scheduler.EventReady)
	for i, tt := range []struct {
		vars  scheduler.Vars
		names string
	}{{`{"LD_PRELOAD":"x"}`, "LD_PRELOAD"}, {`{"A":"x","BASH_ENV":"y"}`, "BASH_ENV"}, {`{"BELLHOP_FENCE":"1"}`, "BELLHOP_FENCE"}, {`{"A=B":"x"}`, "A=B"}, {`{"A":"x","PYTHONPATH":"named in full"}`, ""}} {
		l := line(i+1, "")
		l.Vars = tt.vars
		c.feed(l)
		ev := c.await(scheduler.EventAnswered)
		if ev.OK != (tt.names == "") || !strings.Contains(ev.Told(), tt.names) {
			t.Errorf("%s: answer is %+v", tt.vars, ev)
		}
	}
}

func TestExec_CommandsThatCannotRunFailTheJob(t *testing.T) {
	t.Parallel()
	plain := script(t, "")
	if err := os.Chmod(plain, 0o644); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 200_000)
	for name, tt := range map[string]struct {
		spec Spec
		args string
		code int
		says string
	}{
		"missing":        {execSpec("/nowhere/tool"), "", 127, "/nowhere/tool: no such file"},
		"not executable": {execSpec(plain), "", 126, "not executable"},
		"no #! line":     {execSpec(script(t, "echo hi\n")), "", 126, "#!"},
		"too long":       {execSpec("true"), long, 126, "args_too_long"},
		"far too long":   {execSpec("true"), strings.Repeat(long, 50), 126, "args_too_long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, tt.spec).launch()
			c.await(scheduler.EventReady)
			c.feed(line(1, tt.args))
			ev := c.await(scheduler.EventAnswered)
			if ev.OK || ev.ExitCode != tt.code || !strings.Contains(ev.Told(), tt.says) ||
				tt.says == "args_too_long" && ev.Told() != tt.says {
				t.Errorf("answer is %+v", ev)
			}
		})
	}
}

func TestExec_WhatItLeavesBehindIsDeadAtTheAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := setup(t, execSh(t, `setsid sh -c 'echo $$ >'$1'/daemon; exec sleep 1000' & while [ ! -s $1/daemon ]; do sleep 0.01; done`)).launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, dir))
	if ev := c.await(scheduler.EventAnswered); !ev.OK {
		t.Errorf("answer is %+v", ev)
	}
	if pid := pidIn(t, filepath.Join(dir, "daemon")); alive(pid) {
		t.Error("the daemon lives")
	}
}

func TestExec_KillEndsTheRunWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	c := setup(t, execSpec("sleep")).launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "1000"), line(2, "1000"))
	eventually(t, patience, "it runs", func() bool { return c.Pid() != 0 })
	pid := c.Pid()
	c.Kill()
	if ev := c.await(scheduler.EventExited); ev.Signal != 9 || ev.ExitCode != 137 {
		t.Errorf("exit is %+v", ev)
	}
	allDead(t, 0, pid)
	if back := c.Recall(); len(back) != 1 || back[0].Job != 2 {
		t.Errorf("recalled %v", back)
	}
}

func TestExec_KillBeforeTheProcessIsThereIsNotLost(t *testing.T) {
	t.Parallel()
	for range 20 {
		c := setup(t, execSpec("sleep")).launch()
		c.await(scheduler.EventReady)
		c.feed(line(1, "1000"))
		c.Kill()
		c.gone(patience)
	}
}

func TestExec_CloseHangsUpAndWhatEndsByThatIsNoAnswer(t *testing.T) {
	t.Parallel()
	c := setup(t, execSpec("sleep")).launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "1000"), line(2, "1000"))
	eventually(t, patience, "it runs", func() bool { return c.Pid() != 0 })
	c.Close()
	if ev := c.await(scheduler.EventExited); ev.Signal != int(syscall.SIGHUP) || ev.ExitCode != 129 {
		t.Errorf("exit is %+v", ev)
	}
	if len(c.Recall()) != 1 {
		t.Error("the second line is lost")
	}
}

func TestExec_MissedLeaseEndsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, execSpec("sleep"))
	c, err := b.tryLaunch(200 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	c.await(scheduler.EventReady)
	c.feed(line(1, "1000"))
	if ev := c.await(scheduler.EventExited); !strings.Contains(ev.Told(), "lease") || ev.Stop != scheduler.StopFenced {
		t.Errorf("exit is %+v", ev)
	}
}

func TestExec_NoRoomForAProcessKeepsTheLine(t *testing.T) {
	t.Parallel()
	b := setup(t, execSpec("true"))
	b.launcher.guardPath = "/nowhere/guard"
	c := b.launch()
	c.await(scheduler.EventReady)
	c.feed(line(1, "a"), line(2, "b"))
	if ev := c.await(scheduler.EventExited); !strings.Contains(ev.Told(), "guard") {
		t.Errorf("exit is %+v", ev)
	}
	if back := c.Recall(); len(back) != 2 || back[0].Job != 1 {
		t.Errorf("recalled %v", back)
	}
}

// What fits into one packet to the guard goes with the descriptors, and what does
// not, over the link: the agent sees no difference.
func TestExec_ArgsOfAnyLengthArrive(t *testing.T) {
	t.Parallel()
	b := setup(t, execSpec("sh", "-c", `echo $#,${#1}`, "sh"))
	c := b.launch()
	c.await(scheduler.EventReady)
	for i, n := range []int{0, 1, guard.PacketRequest - 2000, guard.PacketRequest, 4*guard.PacketRequest - 1} {
		c.feed(line(i+1, strings.Repeat("x", n)))
		if ev := c.await(scheduler.EventAnswered); !ev.OK {
			t.Fatalf("%d bytes: %+v", n, ev)
		}
		if want := fmt.Sprintf("1,%d", n); len(b.logged(want)) != 1 {
			t.Errorf("%d bytes: no %q in the log", n, want)
		}
	}
}
