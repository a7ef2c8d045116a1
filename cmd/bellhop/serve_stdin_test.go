package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/cmd/bellhop/internal/serve"
)

// stdinServe runs `serve -I` on those lines.
func stdinServe(t *testing.T, yaml, in string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	clitest.Write(t, file, yaml)
	var stdout, stderr bytes.Buffer
	code := run([]string{"serve", "-I", "-c", file}, strings.NewReader(in), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func TestServeStdin_RunsJobsThroughTheSameTree(t *testing.T) {
	t.Parallel()
	yaml := "hosts: [{name: local, slots: 4}]\nagents:\n  - {type: warm, command: [" + agentIn(t, goodAgent) + "]}\n" +
		"  - {type: sh, command: [sh, -c], mode: exec}\n" +
		"  - {type: foss, dialect: fossology, command: [" + agentIn(t, `echo "VERSION: 1"; echo OK; read d; read e; echo "got $d"; echo OK; read c; echo "BYE 0"`) + "]}\n"
	r := stdinServe(t, yaml, "warm one\n!warm two\n\nfoss 7\nwait warm\nwait foss\nsh exit 3\nwait\nwarm after\n")
	if r.code != cli.ExitJobFailed || r.stderr != "" {
		t.Errorf("exit code %d, said %s", r.code, r.stderr)
	}
	has(t, r.stdout, "1 warm.", "info: one", "1 warm succeeded", "2 warm succeeded", "out: got 7", "3 foss succeeded", "4 sh failed, exit code 3: exit status 3", "5 warm succeeded")
	if strings.Index(r.stdout, "4 sh failed") > strings.Index(r.stdout, "info: after") {
		t.Errorf("wait did not wait:\n%s", r.stdout)
	}
	if r = stdinServe(t, yaml, "warm one\n"); r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if r = stdinServe(t, yaml, "warn one\n"); r.code != cli.ExitJobFailed || !strings.Contains(r.stderr, `no agent of type "warn"`) {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if r = stdinServe(t, yaml, ""); r.code != 0 || r.stdout != "" {
		t.Errorf("nothing: %+v", r)
	}
}

// More lines than are kept in memory, and one that is urgent among them.
func TestServeStdin_ManyJobs(t *testing.T) {
	t.Parallel()
	n := serve.MaxOpen + 100
	r := stdinServe(t, "hosts: [{name: local, slots: 2}]\nagents: [{type: warm, command: ["+agentIn(t, `echo OK; while read -r l; do echo OK; done`)+"]}]\n",
		strings.Repeat("warm x\n", n)+"!warm y\n")
	if got := strings.Count(r.stdout, "warm succeeded\n"); r.code != 0 || got != n+1 {
		t.Errorf("exit code %d, %d succeeded\n%s", r.code, got, r.stderr)
	}
}

// Agents that want vars can be tried without a queue: some for all jobs, some
// for those behind them.
func TestServeStdin_JobsHaveVars(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	clitest.Write(t, file, "hosts: [{name: local, slots: 1}]\nagents:\n  - {type: sh, command: [sh, -c], mode: exec, vars: [A, B]}\n")
	var stdout, stderr bytes.Buffer
	in := "sh echo first $A $B\nwait\nvar B=two\nsh echo second $A $B\nwait\nvar A=\nsh echo third $A $B\n"
	if code := run([]string{"serve", "-I", "-c", file, "--var", "A=one"}, strings.NewReader(in), &stdout,
		&stderr); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	has(t, stdout.String(), "out: first one\n", "out: second one two\n", "out: third two\n")
}
