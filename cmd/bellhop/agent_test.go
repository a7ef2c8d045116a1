package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/agentkit"
	"bellhop/cmd/bellhop/internal/cli"
)

// agentIn writes an agent in shell.
func agentIn(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodAgent = `echo OK; while IFS= read -r line; do echo "LOG $line"; echo OK; done`

func TestAgentTry_ShowsWhoSaidWhat(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"classic":        {[]string{agentIn(t, goodAgent+`; echo bye >&2`), "hello"}, 0, []string{"agent    OK", "bellhop  hello", "agent    LOG hello", "succeeded", "stderr   bye", "it has gone: exit status 0"}},
		"json":           {[]string{agentIn(t, `echo '{"bellhop":1,"type":"sum"}'; read l; echo '{"fail":"no"}'; read l`), "x"}, cli.ExitJobFailed, []string{`bellhop  {"id":1,"attempt":1,"fence":1,"args":"x"}`, `agent    {"fail":"no"}`, "the line failed, exit code 1: no"}},
		"a dying one":    {[]string{agentIn(t, `echo OK; read l; echo "no disk" >&2; exit 4`), "x"}, cli.ExitJobFailed, []string{"the agent cannot go on: exit status 4: no disk"}},
		"exec":           {[]string{"--mode", "exec", "sh", "-c", `echo "$0 $COLOUR"; exit 3`, "hello"}, cli.ExitJobFailed, []string{"agent    hello", "exit code 3"}},
		"exec with vars": {[]string{"--mode", "exec", "--var", "COLOUR=blue", "sh", "-c", `echo "$0 $COLOUR"`, "hello"}, 0, []string{"agent    hello blue"}},
		"fossology":      {[]string{"--dialect", "fossology", "--var", "jobId=7", agentIn(t, `echo "VERSION: 1"; echo OK; read d; read e; echo "got $d $e $1"; echo OK; read c; echo "BYE 0"`), "12"}, 0, []string{"bellhop  12", "bellhop  END", "agent    got 12 END --jobId=7", "bellhop  CLOSE", "succeeded"}},
		"no such":        {[]string{"/no/such/agent", "x"}, cli.ExitJobFailed, []string{"no such file"}},
		"no dialect":     {[]string{"--dialect", "klassik", "true", "x"}, cli.ExitUsage, nil},
		"no line":        {[]string{"true"}, cli.ExitUsage, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := command(append([]string{"agent", "try"}, x.args...)...)
			if r.code != x.code {
				t.Errorf("exit code %d, want %d\n%s%s", r.code, x.code, r.stdout, r.stderr)
			}
			has(t, r.stdout, x.says...)
		})
	}
}

func TestAgentCheck_Verdicts(t *testing.T) {
	t.Parallel()
	long := []string{"--timeout", "20s"}  // for those that are good: a busy machine makes none bad
	short := []string{"--timeout", "10s"} // for those that have to be waited for
	for name, x := range map[string]struct {
		args []string
		code int
		want map[string]string // check → verdict and a part of what it says
	}{
		"good classic": {append(long, agentIn(t, goodAgent)), 0, map[string]string{"does a line": "ok", "outlives an empty line": "ok", "leaves when its stdin is closed": "ok"}},
		"good json":    {append(long, agentIn(t, `echo '{"bellhop":1,"type":"sum"}'; while read -r l; do echo '{"ok":true}'; done`)), 0, map[string]string{"is ready in time": "ok", "does a line": "ok"}},
		"good exec":    {append(long, "--mode", "exec", "--line", "a b", "sh", "-c", `test "$0" = "a b"`), 0, map[string]string{"ends: the line": "ok exit code 0", "ends: an item": "ok exit code 1"}},
		"good fossology": {append(long, "--dialect", "fossology", "--line", "7", agentIn(t, `echo "VERSION: 1"; echo OK
while read -r d; do case $d in CLOSE*) break;; END*) echo OK;; esac; done; echo "BYE 0"`)), 0,
			map[string]string{"start-up test: VERSION, OK, BYE 0": "ok", "does a line and says BYE 0": "ok", "leaves when its stdin is closed": "ok"}},
		"silent":           {append(short, agentIn(t, "sleep 100")), 1, map[string]string{"is ready in time": "bad no OK"}},
		"says OK unasked":  {append(long, agentIn(t, `printf 'OK\nOK\n'; while read -r l; do echo OK; done`)), 1, map[string]string{"waits to be asked": "bad without a line to answer"}},
		"answers twice":    {append(long, agentIn(t, `echo OK; while read -r l; do printf 'OK\nOK\n'; done`)), 1, map[string]string{"answers once": "bad without a line to answer"}},
		"never answers":    {append(short, agentIn(t, `echo OK; while read -r l; do :; done`)), 1, map[string]string{"does a line": "bad no answer within 10s"}},
		"dies of all":      {append(long, agentIn(t, `echo OK; read -r l; exit 1`)), 1, map[string]string{"does a line": "odd it died: exit status 1", "does anything at all": "bad --line"}},
		"dies of the line": {append(long, "--line", "x", agentIn(t, `echo OK; read -r l; exit 1`)), 1, map[string]string{"does a line": "bad it died"}},
		"dies of nothing":  {append(long, agentIn(t, `echo OK; while read -r l; do [ "$l" ] || exit 3; echo OK; done`)), 0, map[string]string{"outlives an empty line": "odd exit status 3", "outlives an item": "ok"}},
		"stays":            {append(short, agentIn(t, `trap '' HUP; echo OK; while read -r l; do echo OK; done; sleep 100`)), 1, map[string]string{"leaves when its stdin is closed": "bad it still runs"}},
		"leaves on SIGHUP": {append(short, agentIn(t, `echo OK; while read -r l; do echo OK; done; exec sleep 100`)), 0, map[string]string{"leaves when its stdin is closed": "odd SIGHUP"}},
		"talks at first":   {append(long, agentIn(t, `echo hello; `+goodAgent)), 0, map[string]string{"says nothing before it is ready": "odd hello"}},
		"asks a database":  {append(short, agentIn(t, `echo OK; while read -r l; do echo "DB: select 1;"; read -r row; done`)), 0, map[string]string{"does a line": "odd no database here"}},
		"no version":       {append(long, "--dialect", "fossology", agentIn(t, `echo hello; sleep 100`)), 1, map[string]string{"start-up test: VERSION, OK, BYE 0": `bad its first line is not VERSION: "hello"`}},
		"no BYE":           {append(long, "--dialect", "fossology", agentIn(t, `echo "VERSION: 1"; echo OK; read l`)), 1, map[string]string{"start-up test: VERSION, OK, BYE 0": "bad left without BYE"}},
		"not there":        {append(long, "/no/such/agent"), 1, map[string]string{"starts": "bad no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := command(append([]string{"-o", "json", "agent", "check"}, x.args...)...)
			if r.code != x.code {
				t.Errorf("exit code %d, want %d\n%s%s", r.code, x.code, r.stdout, r.stderr)
			}
			var list []agentkit.Finding
			if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
				t.Fatalf("%v in %s", err, r.stdout)
			}
			found := map[string]agentkit.Finding{}
			for _, f := range list {
				found[f.Check] = f
			}
			for check, want := range x.want {
				verdict, says, _ := strings.Cut(want, " ")
				if f := found[check]; f.Verdict != verdict || !strings.Contains(f.Says, says) {
					t.Errorf("%s: %+v, want %s", check, f, want)
				}
			}
		})
	}
	if r := command("agent", "check", "--timeout", "20s", agentIn(t, goodAgent)); r.code != 0 ||
		!strings.Contains(r.stdout, "ok    does a line\n") {
		t.Errorf("as text: %+v", r)
	}
}

// TestAgentCheck_ShowsNoLongLine: an agent that says its line again says 64 KiB.
func TestAgentCheck_ShowsNoLongLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--mode", "exec", "--", "sh", "-c", `echo "$0" >&2; exit 3`},
		{"--", "sh", "-c", `echo OK; while IFS= read -r l; do echo "ERROR $l"; echo "$l" >&2; [ ${#l} -lt 99 ] || exit 1; echo OK; done`},
	} {
		r := command(append([]string{"agent", "check"}, args...)...)
		if !strings.Contains(r.stdout, "a long line (64 KiB)") {
			t.Errorf("%v: %+v", args, r)
		}
		for line := range strings.Lines(r.stdout + r.stderr) {
			if len(line) > 300 {
				t.Errorf("%v: a line of %d bytes: %.100s…", args, len(line), line)
			}
		}
	}
}
