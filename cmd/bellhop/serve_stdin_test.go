package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

func TestServeStdin_Orders(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":               "",
		"  ":             "",
		"license":        "license/-/0",
		"license ":       "license//0",
		"license a  b ":  "license/a  b /0",
		"license a\r":    "license/a/0",
		"!license a":     "license/a/-20",
		"! license a":    "license/a/-20",
		"wait license":   "wait license",
		"wait":           "wait ",
		"waiter x":       "waiter/x/0",
		"license wait x": "license/wait x/0",
		"var jobId=12":   "var jobId=12",
		"var jobId=":     "var jobId=",
		"var a b=c":      "var a b=c",
		"var x":          "var/x/0",
		"!var a=b":       "var/a=b/-20",
	} {
		o, ok := parseOrder(line)
		got := ""
		switch {
		case ok && o.name != "":
			got = "var " + o.name + "=" + o.value
		case ok && o.wait:
			got = "wait " + string(o.typ)
		case ok:
			args := "-"
			if o.args != nil {
				args = *o.args
			}
			got = fmt.Sprintf("%s/%s/%d", o.typ, args, o.priority)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}

// stdinServe runs `serve -I` on those lines.
func stdinServe(t *testing.T, yaml, in string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	write(t, file, yaml)
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
	if r.code != exitJobFailed || r.stderr != "" {
		t.Errorf("exit code %d, said %s", r.code, r.stderr)
	}
	has(t, r.stdout, "1 warm.", "info: one", "1 warm succeeded", "2 warm succeeded", "out: got 7", "3 foss succeeded", "4 sh failed, exit code 3: exit status 3", "5 warm succeeded")
	if strings.Index(r.stdout, "4 sh failed") > strings.Index(r.stdout, "info: after") {
		t.Errorf("wait did not wait:\n%s", r.stdout)
	}
	if r = stdinServe(t, yaml, "warm one\n"); r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if r = stdinServe(t, yaml, "warn one\n"); r.code != exitJobFailed || !strings.Contains(r.stderr, `no agent of type "warn"`) {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	if r = stdinServe(t, yaml, ""); r.code != 0 || r.stdout != "" {
		t.Errorf("nothing: %+v", r)
	}
}

// More lines than are kept in memory, and one that is urgent among them.
func TestServeStdin_ManyJobs(t *testing.T) {
	t.Parallel()
	n := maxOpen + 100
	r := stdinServe(t, "hosts: [{name: local, slots: 2}]\nagents: [{type: warm, command: ["+agentIn(t, `echo OK; while read -r l; do echo OK; done`)+"]}]\n",
		strings.Repeat("warm x\n", n)+"!warm y\n")
	if got := strings.Count(r.stdout, "warm succeeded\n"); r.code != 0 || got != n+1 {
		t.Errorf("exit code %d, %d succeeded\n%s", r.code, got, r.stderr)
	}
}

// The queue in memory keeps what the tree leans on: each job once, the more
// urgent first, and outcomes only from who holds it.
func TestMemory_ClaimsOnceInOrderUnderAFence(t *testing.T) {
	t.Parallel()
	m := newMemory(func(scheduler.Entry) {}, func(*memoryJob) {})
	for _, priority := range []int{0, 5, -20, 0} {
		m.submit("a", nil, priority, "")
	}
	m.submit("b", nil, 0, "")
	demand := scheduler.Demand{Host: "local", Total: 3, Types: []scheduler.TypeDemand{{Type: "a", Most: 3, Worst: 19}}}
	jobs, _ := m.Claim(t.Context(), 1, demand)
	var ids []scheduler.JobID
	for _, j := range jobs {
		ids = append(ids, j.Claim.Job)
	}
	if fmt.Sprint(ids) != "[3 1 4]" || jobs[0].Fence != 1 || jobs[0].Attempt != 1 {
		t.Fatalf("claimed %v: %+v", ids, jobs)
	}
	write := func(r scheduler.Record) (stale int) {
		list, _, err := m.Write(t.Context(), 1, scheduler.Batch{Records: []scheduler.Record{r}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	done := scheduler.Verdict{State: scheduler.Succeeded}
	old := jobs[0].Claim
	if write(scheduler.Record{Kind: scheduler.RecordGiveBack, Claim: old}) != 0 {
		t.Error("its holder may not give it back")
	}
	again, _ := m.Claim(t.Context(), 1, demand)
	if len(again) != 2 || again[0].Claim.Job != 3 || again[0].Fence != 2 || again[0].Attempt != 1 || again[1].Claim.Job != 2 {
		t.Fatalf("claimed again %+v", again)
	}
	if write(scheduler.Record{Kind: scheduler.RecordSettle, Claim: old, Verdict: done}) != 1 {
		t.Error("an outcome under an old fence was taken")
	}
	if write(scheduler.Record{Kind: scheduler.RecordSettle, Claim: again[0].Claim, Verdict: done}) != 0 {
		t.Error("its holder's outcome was not taken")
	}
	select {
	case <-m.wait("a", 3):
	case <-m.wait("b", 0):
		t.Error("b is open")
	default:
		t.Error("three of a are open, and that is not seen")
	}
}

// Agents that want vars can be tried without a queue: some for all jobs, some
// for those behind them.
func TestServeStdin_JobsHaveVars(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bellhop.yaml")
	write(t, file, "hosts: [{name: local, slots: 1}]\nagents:\n  - {type: sh, command: [sh, -c], mode: exec, vars: [A, B]}\n")
	var stdout, stderr bytes.Buffer
	in := "sh echo first $A $B\nwait\nvar B=two\nsh echo second $A $B\nwait\nvar A=\nsh echo third $A $B\n"
	if code := run([]string{"serve", "-I", "-c", file, "--var", "A=one"}, strings.NewReader(in), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	has(t, stdout.String(), "out: first one\n", "out: second one two\n", "out: third two\n")
}
