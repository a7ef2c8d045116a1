package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// witness is what an agent of a test writes while it does a line: a line when it starts and one when it ends, with what
// a child of its type takes.
func witness(name string, units int, body string) string {
	return fmt.Sprintf("echo \"%s +%d\" >>$DIR/units; %s; echo \"%s -%d\" >>$DIR/units", name, units, body, name, units)
}

// mostAtOnce replays what the witnesses wrote: the most that was taken at any time, and by which types anything was.
func (e *env) mostAtOnce() (most int, types map[string]int) {
	e.t.Helper()
	types = map[string]int{}
	now := 0
	for _, line := range e.lines("units") {
		name, delta, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(delta)
		if err != nil {
			e.t.Fatalf("a witness wrote %q", line)
		}
		if n > 0 {
			types[name]++
		}
		now += n
		most = max(most, now)
	}
	if now != 0 {
		e.t.Errorf("%d are taken in the end", now)
	}
	return most, types
}

// TestResources_NeverMoreThanTheHostHas: jobs of warm and exec agents, items of queries of both, and a type that takes
// all of it: never are more than two of gpu in use, and all of them run.
func TestResources_NeverMoreThanTheHostHas(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts: [{name: local, slots: 8, resources: {gpu: 2, disk: 9}}]\nlimits: {min_ready: 1s}\n" + agents(
		"type: warm, command: ["+e.worker("warm", witness("warm", 1, "sleep 0.02"))+"], resources: {gpu: 1}",
		"type: exec, mode: exec, command: ["+e.script("exec", witness("exec", 1, "sleep 0.02"))+"], resources: {gpu: 1, disk: 2}",
		"type: both, mode: exec, command: ["+e.script("both", witness("both", 2, "sleep 0.02"))+"], resources: {gpu: 2}",
		"type: plain, mode: exec, command: ["+e.script("plain", witness("plain", 0, "true"))+"]"))
	var ids []int64
	for _, typ := range []string{"warm", "exec"} {
		ids = append(ids, e.insert("type, msq", typ, numbers(12)))
	}
	for range 8 {
		for _, typ := range []string{"warm", "exec", "both", "plain"} {
			ids = append(ids, e.insert("type, args", typ, "x"))
		}
	}
	for _, id := range ids {
		e.waitState(id, "succeeded")
	}
	most, ran := e.mostAtOnce()
	if most != 2 {
		t.Errorf("%d of 2 were in use at once", most)
	}
	if ran["warm"] != 20 || ran["exec"] != 20 || ran["both"] != 8 {
		t.Errorf("%v", ran)
	}
}

// TestSlots_SeveralForAChild: a child of a type takes more than one of its host's slots, of whatever mode, and items do
// too. Never are more in use than there are, and jobs that take one do not starve those that take several.
func TestSlots_SeveralForAChild(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts: [{name: local, slots: 3}]\nlimits: {min_ready: 1s}\n" + agents(
		"type: one, mode: exec, command: ["+e.script("one", witness("one", 1, `[ -z "$1" ] || while [ ! -e "$DIR/$1" ]; do sleep 0.02; done`))+"]",
		"type: warm, command: ["+e.worker("warm", witness("warm", 1, "sleep 0.02"))+"]",
		"type: two, mode: exec, command: ["+e.script("two", witness("two", 2, "sleep 0.02"))+"], slots: 2",
		"type: wide, command: ["+e.worker("wide", witness("wide", 2, "sleep 0.02"))+"], slots: 2"))
	holds := []int64{e.insert("type, args", "one", "go1"), e.insert("type, args", "one", "go2")}
	for _, id := range holds {
		e.waitState(id, "running")
	}
	two := e.insert("type", "two")
	e.because(two, "no_room", "local has 2 of 3 slots taken: 2 by one, and a child of two takes 2")
	e.eventually("slots are kept", "select coalesce(bounds ->> 'one' like '%keeps its slots for a child of two', false) from bellhop.host")
	later := e.insert("type, args", "one", "")
	e.because(later, "no_room/resource", "local keeps its slots for a child of two")
	e.file("go1", "", 0o644)
	e.waitState(two, "succeeded") // while the other one still runs
	e.file("go2", "", 0o644)
	ids := append(holds, later, e.insert("type, msq", "wide", numbers(6)), e.insert("type, msq", "two", numbers(6)))
	for range 6 {
		for _, typ := range []string{"one", "warm", "two", "wide"} {
			ids = append(ids, e.insert("type, args", typ, ""))
		}
	}
	for _, id := range ids {
		e.waitState(id, "succeeded")
	}
	if most, ran := e.mostAtOnce(); most != 3 || ran["two"] != 13 || ran["wide"] != 12 {
		t.Errorf("%d of 3 slots were in use at once, by %v", most, ran)
	}
}

// TestResources_ExplainSaysWhatIsMissing: a job waits although slots are free, and says for what. What becomes free is
// kept for a job that waits for more of it, and jobs that take none start meanwhile.
func TestResources_ExplainSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts: [{name: local, slots: 8, resources: {gpu: 2}}]\n" + agents(
		"type: one, mode: exec, command: ["+e.script("one", `[ -z "$1" ] || while [ ! -e "$DIR/$1" ]; do sleep 0.02; done; echo one >>$DIR/ended`)+"], resources: {gpu: 1}",
		"type: two, mode: exec, command: ["+e.script("two", "echo two >>$DIR/ended")+"], resources: {gpu: 2}",
		"type: plain, mode: exec, command: [\"true\"]"))
	first, second := e.insert("type, args", "one", "go1"), e.insert("type, args", "one", "go2")
	e.waitState(first, "running")
	e.waitState(second, "running")
	two := e.insert("type", "two")
	e.because(two, "no_room/resource", "local has 2 of 2 gpu taken: 2 by one, and a child of two takes 2", fmt.Sprintf("(job %d)", first))
	e.eventually("its row says so", "select coalesce(waiting_for, '') = 'no_room' from bellhop.jobqueue where id = $1", two)
	e.waitState(e.insert("type", "plain"), "succeeded")
	e.file("go1", "", 0o644)
	e.waitState(first, "succeeded")
	e.eventually("gpu is kept", "select coalesce(bounds ->> 'one' like '%keeps its gpu for a child of two', false) from bellhop.host")
	later := e.insert("type, args", "one", "")
	e.typed(e.because(later, "no_room/resource", "local keeps its gpu for a child of two"))
	e.because(two, "no_room/resource", "local has ", " of 2 gpu taken", "a child of two takes 2")
	e.file("go2", "", 0o644)
	for _, id := range []int64{second, two, later} {
		e.waitState(id, "succeeded")
	}
	if got := fmt.Sprint(e.lines("ended")); got != "[one one two one]" {
		t.Errorf("they ended as %s", got)
	}
}

// TestResources_AnIdleChildMakesRoom: a warm child that has nothing to do holds its part, until a job of another type
// needs it.
func TestResources_AnIdleChildMakesRoom(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts: [{name: local, slots: 8, resources: {gpu: 1}}]\nlimits: {min_ready: 1h}\n" + agents(
		"type: a, command: ["+e.worker("a", "true")+"], resources: {gpu: 1}",
		"type: b, command: ["+e.worker("b", "true")+"], resources: {gpu: 1}"))
	for range 3 {
		e.waitState(e.insert("type", "a"), "succeeded")
		e.waitState(e.insert("type", "b"), "succeeded")
	}
	e.eventually("one child is up", "select count(*) = 1 from bellhop.child where state not in ('FREE', 'FAIL')")
}

// TestResources_OfNoHost: a type that asks for what no host has is an error of the configuration.
func TestResources_OfNoHost(t *testing.T) {
	t.Parallel()
	e := setup(t)
	file := e.file("wrong.yaml", e.configuration("hosts: [{name: local, slots: 8, resources: {gpu: 1}}]\n"+
		agents("type: a, mode: exec, command: [\"true\"], resources: {gpuu: 1}")), 0o644)
	r := e.run("config", "check", "-c", file)
	if r.code == 0 || !strings.Contains(r.stderr+r.stdout, `no host has a resource "gpuu"`) ||
		!strings.Contains(r.stderr+r.stdout, `did you mean "gpu"?`) {
		t.Errorf("%d\n%s%s", r.code, r.stdout, r.stderr)
	}
}
