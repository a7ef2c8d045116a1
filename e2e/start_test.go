package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestConfiguration_AllProblemsAtOnceAndNothingStarted(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.start(fmt.Sprintf("database: {url: %q}\n", e.url) + `instance: {heartbeat: soon}
hosts:
  - {name: local, slots: -1}
agents:
  - type: a
    comand: [true]
  - {type: b, command: [true], mode: cold}
`)
	if code := i.exit(); code != 2 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range []string{":2:", ":4:", ":7:", ":8:"} {
		has(t, i.said(), i.config+line)
	}
	has(t, i.said(), "soon", "slots", "comand", "cold")
	if strings.Contains(i.said(), "goroutine") {
		t.Errorf("a stack trace:\n%s", i.said())
	}
	if n := value[int](e, "select count(*) from bellhop.instance"); n != 0 {
		t.Errorf("%d instances have registered", n)
	}
}

func TestDatabase_UnreachableIsExitCode5(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.start("database: {url: \"postgres://nobody@127.0.0.1:1/none\"}\n" + agents("type: a, command: [/bin/true]"))
	if code := i.exit(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	has(t, i.said(), "127.0.0.1", "refused")
}

func TestDatabase_ReadOnlyIsRefused(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$")
	i := e.start(e.configuration(agents("type: a, command: [/bin/true]")))
	if code := i.exit(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	has(t, i.said(), "read-only", "target_session_attrs")
}

func TestExec_EnvironmentAndOutput(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `env | sort; echo "args $# <$1>"; echo "to stderr" >&2`)
	e.serve(agents(`type: env, mode: exec, env: {COLOUR: blue}, vars: [USERID, "OPT_*"], command: [` + agent + "]"))
	id := e.insert("type, args, key, vars", "env", "one two", "k/1", `{"USERID": "7", "OPT_X": "y z"}`)
	j := e.waitState(id, "succeeded")
	log := e.logged(id)
	has(t, log, fmt.Sprintf("BELLHOP_JOB_ID=%d", id), "BELLHOP_KEY=k/1", "BELLHOP_ATTEMPT=1", fmt.Sprintf("BELLHOP_FENCE=%d", j.Fence),
		"USERID=7", "OPT_X=y z", "COLOUR=blue", "args 1 <one two>", "to stderr")
	for _, secret := range []string{"GORACE", "DATABASE_URL", "PGPASS"} {
		if strings.Contains(log, secret) {
			t.Errorf("the agent sees the scheduler's %s", secret)
		}
	}
	has(t, e.ok("logs", fmt.Sprint(id)), "args 1 <one two>")
	if out := e.ok("logs", "-e", fmt.Sprint(id)); out != "to stderr\n" {
		t.Errorf("logs -e printed %q", out)
	}

	bare := e.insert("type", "env")
	e.waitState(bare, "succeeded")
	has(t, e.logged(bare), "args 0 <>")

	for _, vars := range []string{`{"OTHER": "x"}`, `{"LD_PRELOAD": "/tmp/x.so"}`, `{"PATH": "/tmp"}`} {
		j := e.waitState(e.insert("type, vars", "env", vars), "failed")
		has(t, j.Error, strings.Split(vars, `"`)[1], "agents[].vars")
	}
	e.healthy("env")
}

func TestExitCode_IsTheAgents(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `case $1 in kill*) kill -${1#kill} $$;; wait) sleep 1000;; *) exit $1;; esac`)
	e.serve(agents("type: a, mode: exec, command: [" + agent + "]"))
	for args, want := range map[string]int{"0": 0, "3": 3, "255": 255, "kill9": 137, "kill15": 143, "kill11": 139} {
		id := fmt.Sprint(e.insert("type, args", "a", args))
		if r := e.run("exit-code", "-q", "-w", id); r.code != want || r.stdout+r.stderr != "" {
			t.Errorf("%s: %+v, want code %d", args, r, want)
		}
		state := "failed"
		if want == 0 {
			state = "succeeded"
		}
		if j := e.job(int64(number(t, id))); j.State != state || j.ExitCode != want {
			t.Errorf("%s: %+v", args, j)
		}
	}
	id := e.insert("type, args", "a", "wait")
	e.waitState(id, "running")
	if r := e.run("exit-code", "-q", fmt.Sprint(id)); r.code != 125 {
		t.Errorf("of a running job: %+v", r)
	}
	if r := e.run("exit-code", "-q", "999999"); r.code != 126 {
		t.Errorf("of no job: %+v", r)
	}
	if r := e.run("wait", "--timeout", "100ms", fmt.Sprint(id)); r.code != 4 {
		t.Errorf("wait for one that takes long: %+v", r)
	}
	e.ok("cancel", "--now", fmt.Sprint(id))
	e.waitState(id, "cancelled")
}
