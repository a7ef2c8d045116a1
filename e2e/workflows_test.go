package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The page that leads from a file to a run is run as it stands there.
func TestWorkflowsDoc_LeadsFromAFileToARun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("SKIPPED: no psql here, so the script of docs/workflows.md is not run; install postgresql-client")
	}
	page, err := os.ReadFile("../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, yaml, _ := strings.Cut(string(page), "```yaml\n")
	yaml, rest, _ := strings.Cut(yaml, "```")
	_, script, _ := strings.Cut(rest, "```sh\n")
	script, _, _ = strings.Cut(script, "```")
	e := setup(t)
	e.file("nightly.yaml", yaml, 0o600)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec, vars: [DAY]"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script)
	cmd.Dir = e.dir
	cmd.Env = append(environment(e.dir), "DATABASE_URL="+e.url)
	cmd.Env[0] = "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, string(out), "nightly created (version 1)", "Sun 2026-10-25 02:00:00 CEST", "run 1 succeeded", "next at ", "2026/11/22")
}

// slots are the seconds that came to events, and how late their runs were made, in ms.
func (e *env) slots() (first, last time.Time, n, late int) {
	err := e.pool.QueryRow(e.t.Context(), `select min(slot), max(slot), count(*), coalesce(max(extract(epoch from r.created_at - slot) * 1000), 0)::int
		from bellhop.event e join bellhop.run r on r.id = e.run`).Scan(&first, &last, &n, &late)
	if err != nil {
		e.t.Fatal(err)
	}
	return first, last, n, late
}

// A cron that fires each second, while instances are killed: no slot is lost, none comes to two runs.
func TestWorkflows_ACronOfEachSecondOutlivesKills(t *testing.T) {
	t.Parallel()
	e := setup(t)
	config := agents("type: sh, command: [sh, -c], mode: exec")
	e.file("tick.yaml", "workflow: tick\nsensor: {cron: \"* * * * * *\", catch_up: all}\nsteps: [{name: a, type: sh, args: \"true\"}]\n", 0o600)
	servers := []*instance{e.serve(config), e.serve(config)}
	e.ok("workflow", "apply", filepath.Join(e.dir, "tick.yaml"))
	for i := range 4 {
		time.Sleep(1300 * time.Millisecond) // kills fall on any moment of a second
		servers[i%2].kill()
		servers[i%2] = e.serve(config)
	}
	e.eventually("slots go on", "select count(*) > 8 from bellhop.event")
	e.ok("manager", "stop") // what is queued still begins
	e.eventually("its runs are over", "select not exists (select from bellhop.run where state in ('queued', 'running'))")
	first, last, n, _ := e.slots()
	if want := int(last.Sub(first)/time.Second) + 1; n != want {
		t.Errorf("%d slots from %s to %s, want %d", n, first, last, want)
	}
	if runs := value[int](e, "select count(*) from bellhop.run"); runs != n {
		t.Errorf("%d runs of %d slots", runs, n)
	}
	if bad := column[string](e, "select state || ' ' || coalesce(reason, '') from bellhop.run where state <> 'succeeded'"); len(bad) > 0 {
		t.Errorf("runs ended %q", bad)
	}
	if twice := value[int](e, "select count(*) - count(distinct (run, step)) from bellhop.jobqueue where step is not null"); twice != 0 {
		t.Errorf("%d steps are there twice", twice)
	}
}

// Where nothing else runs, a run is there soon after its slot.
func TestWorkflows_ARunBeginsWithItsSlot(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
	e.file("tick.yaml", "workflow: tick\nsensor: {cron: \"* * * * * *\"}\nsteps: [{name: a, type: sh, args: \"true\"}]\n---\n"+
		"workflow: behind\nsensor: {workflow: tick}\nsteps: [{name: b, type: sh, args: \"echo after ${EVENT}\"}]\n", 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "tick.yaml"))
	e.eventually("ten slots", "select count(*) >= 10 from bellhop.run where workflow = 'tick' and state = 'succeeded'")
	e.eventually("and one behind", "select exists (select from bellhop.run where workflow = 'behind' and state = 'succeeded')")
	late := column[float64](e, "select (extract(epoch from r.created_at - slot) * 1000)::float8 from bellhop.event e join bellhop.run r on r.id = e.run where r.workflow = 'tick' order by 1")
	text := fmt.Sprintf("runs were made %.0f ms after their slots", late)
	t.Log(text)
	for _, ms := range late {
		if ms < 0 {
			t.Error(text)
		}
	}
}

// A run that failed goes on where it failed, and is waited for.
func TestWorkflows_RetryGoesOn(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: sh, command: [sh, -c], mode: exec"))
	e.file("w.yaml", "workflow: w\nsteps:\n"+
		"- {name: a, type: sh, args: \"echo a >> "+e.dir+"/did\"}\n"+
		"- {name: b, type: sh, args: \"test -e "+e.dir+"/there && echo b >> "+e.dir+"/did\"}\n"+
		"- {name: c, type: sh, args: \"echo c >> "+e.dir+"/did\"}\n", 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	if r := e.run("workflow", "run", "w", "--wait"); r.code != 1 || !strings.Contains(r.stderr, "run 1 failed: step b failed") {
		t.Fatalf("%+v", r)
	}
	e.file("there", "", 0o600)
	e.ok("workflow", "retry", "1")
	e.eventually("it has ended well", "select state = 'succeeded' from bellhop.run")
	if got := strings.Join(e.lines("did"), " "); got != "a b c" {
		t.Errorf("done: %s", got)
	}
}

// Three instances share nine workflows; who dies is replaced, who is stopped gives all, and no workflow
// is ever with two.
func TestWorkflows_AreSharedByInstances(t *testing.T) {
	t.Parallel()
	e := setup(t)
	config := agents("type: sh, command: [sh, -c], mode: exec")
	var text strings.Builder
	for i := range 9 {
		fmt.Fprintf(&text, "---\nworkflow: w%d\nsensor: {cron: \"* * * * * *\"}\nsteps: [{name: a, type: sh, args: \"true\"}]\n", i)
	}
	e.file("nine.yaml", text.String(), 0o600)
	first, second := e.serve(config), e.serve(config)
	e.ok("workflow", "apply", filepath.Join(e.dir, "nine.yaml"))
	const owners = `select (select array_agg(n order by n) from (select (select count(*) from bellhop.workflow w where w.instance = i.id) n
		from bellhop.instance i where i.state = 'live') x) = $1::bigint[]`
	e.eventually("two share them", owners, []int64{4, 5})
	third := e.serve(config)
	e.eventually("three share them", owners, []int64{3, 3, 3})
	second.kill()
	e.eventually("two have what three had", owners, []int64{4, 5})
	e.ok("manager", "stop", fmt.Sprint(third.id))
	// All have the same name here, that of the machine: so all are stopped.
	before := value[int](e, "select count(*) from bellhop.event")
	e.ok("manager", "start")
	e.eventually("they go on", "select count(*) > $1 from bellhop.event", before+20)
	first.stop()
	e.eventually("one has them all", owners, []int64{9})
	e.ok("workflow", "deactivate", "*")
	if lost := value[int](e, `select count(*) from (select slot - lag(slot) over (partition by workflow order by slot) as gap
		from bellhop.event where slot is not null) x where gap < interval '1 s'`); lost != 0 {
		t.Errorf("%d slots twice", lost)
	}
	if e.ok("manager", "status"); value[int](e, "select count(*) from bellhop.run where state = 'failed'") != 0 {
		t.Error("runs failed")
	}
}
