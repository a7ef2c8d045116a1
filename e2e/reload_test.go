package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// pidOf is the process of a type's child, 0 where there is none.
func (e *env) pidOf(typ string) int {
	e.t.Helper()
	return value[int](e, "select coalesce(max(pid), 0) from bellhop.child where type = $1 and state in ('READY', 'RUNNING')", typ)
}

// TestReload_TakesWhatChangedAndTouchesNothingElse: types come, go and change while
// jobs of all of them run and wait; none is lost, and a warm child of a type that
// did not change is the same process before and after.
func TestReload_TakesWhatChangedAndTouchesNothingElse(t *testing.T) {
	t.Parallel()
	e := setup(t)
	fifo, write := e.fifo("go")
	waits := func(says string) string {
		return "[bash, -c, 'echo OK; while read -r line; do [ -z \"$line\" ] || read -r go <" + fifo + "; echo LOG " + says + "; echo OK; done']"
	}
	before := "hosts: [{name: local, slots: 8}]\n" + agents("type: same, command: "+waits("same"),
		"type: other, command: "+waits("old"), "type: gone, command: "+waits("gone"),
		"type: sh, mode: exec, command: [sh, -c], env: {WHICH: old}")
	i := e.serve(before)
	for _, typ := range []string{"same", "other", "gone"} {
		e.waitState(e.insert("type", typ), "succeeded")
		e.eventually(typ+" is warm, and everybody knows", "select exists (select from bellhop.child where type = $1 and state = 'READY')", typ)
	}
	warm, old, leaves := e.pidOf("same"), e.pidOf("other"), e.pidOf("gone")
	running := map[string]int64{}
	for _, typ := range []string{"same", "other", "gone"} {
		running[typ] = e.insert("type, args", typ, "wait")
		e.waitState(running[typ], "running")
	}
	waiting := e.insert("type", "new")

	after := strings.NewReplacer("echo LOG old", "echo LOG new", "WHICH: old", "WHICH: new", "type: gone", "type: new",
		"LOG gone", "LOG new one").Replace(before)
	if err := os.WriteFile(i.config, []byte(e.rewritten(i, before, after)), 0o600); err != nil {
		t.Fatal(err)
	}
	said := e.ok("reload")
	has(t, said, "agents added: new; agents removed: gone; agents changed: other, sh")
	e.waitState(waiting, "succeeded") // which waited before its type was there
	has(t, e.logged(waiting), "new one")
	orphan := e.insert("type", "gone")
	for range running {
		write("go")
	}
	for _, typ := range []string{"same", "other", "gone"} {
		if j := e.waitState(running[typ], "succeeded"); j.Attempt != 1 {
			t.Errorf("%s: %+v", typ, j)
		}
	}
	has(t, e.logged(running["other"]), "info: old") // to its end as it began
	id := e.insert("type", "other")
	e.waitState(id, "succeeded")
	has(t, e.logged(id), "info: new")
	id = e.insert("type, args", "sh", "echo it is $WHICH")
	e.waitState(id, "succeeded")
	has(t, e.logged(id), "it is new")
	id = e.insert("type", "same")
	e.waitState(id, "succeeded")
	if now := value[string](e, "select child || ' ' || host from bellhop.job where id = $1", id); now != "same.1 local" {
		t.Errorf("it ran in %s", now)
	}
	if err := syscall.Kill(warm, 0); err != nil || e.pidOf("same") != warm {
		t.Errorf("the warm child of the type that did not change was %d and is %d (%v)", warm, e.pidOf("same"), err)
	}
	for _, pid := range []int{old, leaves} {
		e.eventually(fmt.Sprint("the process ", pid, " has gone"), "select not exists (select from bellhop.child where pid = $1)", pid)
	}
	e.eventually("what nobody serves any more says so", "select coalesce(waiting_for like 'unknown_type%', false) from bellhop.job where id = $1", orphan)
	has(t, e.ok("agents"), "new")
	if strings.Contains(e.ok("agents"), "gone") {
		t.Error("a type that was removed is still shown")
	}
	has(t, e.ok("reload"), "nothing has changed")
}

// TestReload_BadFileChangesNothing: all that is wrong is told at once, by the
// command and by the instance, which goes on; so does the next good one.
func TestReload_BadFileChangesNothing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	good := agents("type: a, command: [" + e.worker("a", "") + "]")
	i := e.serve(good)
	text, err := os.ReadFile(i.config)
	if err != nil {
		t.Fatal(err)
	}
	bad := string(text) + "limitz: {}\nhosts: [{name: local, slots: many}]\n"
	if err := os.WriteFile(i.config, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	r := e.run("reload")
	if r.code != 2 {
		t.Errorf("exit code %d", r.code)
	}
	has(t, r.stderr, "limitz", `duplicate key "hosts"`, "nothing changed")
	i.waitSaid("the configuration is refused")
	e.healthy("a")
	more := "  - {type: b, command: [/bin/false]}\ncommands_from_database: true\n"
	if err := os.WriteFile(i.config, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(i.cmd.Process.Pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	i.waitSaid("agents added: b; holds from the next start: commands_from_database")
	i.waitSaid("summary: running") // and the summary, as ever
	e.healthy("a")
}

// TestReload_Refusals: with what to type instead.
func TestReload_Refusals(t *testing.T) {
	t.Parallel()
	e := setup(t)
	if r := e.run("reload"); r.code != 3 || !strings.Contains(r.stderr, "no instance runs on this machine") {
		t.Errorf("%+v", r)
	}
	if r := e.run("reload", "nobody"); r.code != 3 || !strings.Contains(r.stderr, "nobody") {
		t.Errorf("%+v", r)
	}
}

// TestReload_SlotsAndLimits: more slots are used at once.
func TestReload_SlotsAndLimits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	fifo, write := e.fifo("go")
	yaml := "hosts: [{name: local, slots: 1}]\n" + agents("type: sh, mode: exec, command: [sh, -c]")
	i := e.serve(yaml)
	first := e.insert("type, args", "sh", "read -r go <"+fifo)
	e.waitState(first, "running")
	second := e.insert("type, args", "sh", "exit 0")
	text, err := os.ReadFile(i.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(i.config, []byte(strings.Replace(string(text), "slots: 1", "slots: 2", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, e.ok("reload"), "hosts changed: local")
	e.waitState(second, "succeeded")
	if e.state(first) != "running" {
		t.Errorf("the first is %s", e.state(first))
	}
	e.eventually("it is told how many there are now", "select slots = 2 from bellhop.host")
	write("go")
	e.waitState(first, "succeeded")
}

// rewritten is an instance's file with another of what the test wanted to say.
func (e *env) rewritten(i *instance, before, after string) string {
	e.t.Helper()
	text, err := os.ReadFile(i.config)
	if err != nil || !strings.Contains(string(text), before) {
		e.t.Fatalf("%v: the file is\n%s", err, text)
	}
	return strings.Replace(string(text), before, after, 1)
}
