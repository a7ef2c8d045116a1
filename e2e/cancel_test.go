package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// cancel cancels by the command line and gives what it said.
func (e *env) cancel(id int64, flags ...string) string {
	e.t.Helper()
	r := e.run(append([]string{"cancel", fmt.Sprint(id)}, flags...)...)
	if r.code != 0 {
		e.t.Errorf("cancel: %+v", r)
	}
	return r.stdout + r.stderr
}

// cancelled checks a job that was cancelled before a child had it.
func (e *env) cancelled(id int64) {
	e.t.Helper()
	if j := e.job(id); j.State != "cancelled" {
		e.t.Errorf("it is %+v", j)
	}
	if n := value[int](e, "select count(*) from bellhop.attempt where job = $1", id); n != 0 {
		e.t.Errorf("job %d has %d attempts", id, n)
	}
}

func TestCancel_OfWhatWaitsIsAtOnce(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	held := e.insert("type, held", "a", true)
	scheduled := e.insert("type, run_at", "a", time.Now().Add(time.Hour))
	ready := e.insert("type", "nobody serves this")
	for _, id := range []int64{held, scheduled, ready} {
		e.cancel(id)
		e.cancelled(id)
	}
	for _, id := range []int64{held, scheduled, ready} {
		has(t, e.cancel(id), "cancelled") // final is final
		if r := e.run("release", fmt.Sprint(id)); e.state(id) != "cancelled" {
			t.Errorf("a release after it: %+v", r)
		}
	}
	e.healthy("a")
	if got := e.lines("ran"); !slices.Equal(got, []string{"good"}) {
		t.Errorf("ran %q", got)
	}
}

// TestCancel_OfAssigned: it was picked, and its agent never says OK.
func TestCancel_OfAssigned(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `[ -e $DIR/well ] || exec sleep 1000; echo OK; while read -r line; do echo "$line" >>$DIR/ran; echo OK; done`)
	e.serve("limits: {start_timeout: 3s, kill_after: 1s}\n" + agents("type: a, command: ["+agent+"]"))
	id := e.insert("type, args", "a", "never")
	e.waitState(id, "assigned")
	e.cancel(id)
	e.cancelled(id)
	e.file("well", "", 0o644)
	e.healthy("a")
	e.cancelled(id)
	if got := e.lines("ran"); !slices.Equal(got, []string{"good"}) {
		t.Errorf("ran %q", got)
	}
}

// TestCancel_OfRunning: by SIGHUP, and by SIGKILL where that is ignored or
// where there is no time for it. Until the last process is dead the job runs.
func TestCancel_OfRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body      string
		mode      string
		killAfter string
		flags     []string
	}{
		"hung up":          {"sleep 1000", "warm", "50s", nil},
		"hung up, exec":    {"sleep 1000", "exec", "50s", nil},
		"ignores it":       {"trap '' HUP TERM; sleep 1000; sleep 1000", "warm", "1s", nil},
		"ignores it, exec": {"trap '' HUP TERM; sleep 1000; sleep 1000", "exec", "1s", nil},
		"now":              {"trap '' HUP TERM; sleep 1000; sleep 1000", "warm", "50s", []string{"--now"}},
		"now, exec":        {"trap '' HUP TERM; sleep 1000; sleep 1000", "exec", "50s", []string{"--now"}},
		"has a daemon":     {"(trap '' HUP; setsid sleep 1000) & sleep 1000", "warm", "50s", nil},
		"gently, then now": {"trap '' HUP TERM; sleep 1000; sleep 1000", "warm", "50s", []string{"--now"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			deaf := "" // before it says that it is at it
			if body, is := strings.CutPrefix(c.body, "trap '' HUP TERM; "); is {
				c.body, deaf = body, `[ "$line" = long ] && trap '' HUP TERM; `
			}
			agent := e.worker("agent", deaf+note+`; [ "$line" = long ] && { `+c.body+"\n}")
			if c.mode == "exec" {
				agent = e.script("agent", `line=$1; `+deaf+note+`; [ "$line" = long ] || exit 0; `+c.body)
			}
			i := e.serve(
				"limits: {kill_after: " + c.killAfter + "}\n" + agents("type: a, mode: "+c.mode+", command: ["+agent+"]"))
			id := e.insert("type, args, max_attempts", "a", "long", 5)
			pgtest.Eventually(t, patience, "it runs", func() bool { return len(e.lines("ran")) == 1 })
			e.waitState(id, "running") // the agent may be at it before its row says so
			if strings.HasPrefix(name, "gently") {
				e.cancel(id)
				if s := e.state(id); s != "running" {
					t.Errorf("with its agent alive it is %s", s)
				}
			}
			e.cancel(id, c.flags...)
			j := e.waitState(id, "cancelled")
			if j.Attempt != 1 || !strings.Contains(j.Error, "cancelled") {
				t.Errorf("it is %+v", j)
			}
			if left := i.processes(); len(left) != 0 {
				t.Errorf("%d processes live", len(left))
			}
			has(t, e.cancel(id), "cancelled")
			e.healthy("a")
			if n := value[int](e, "select deaths from bellhop.jobqueue where id = $1", id); n != 0 {
				t.Errorf("a death by our order was counted")
			}
			e.ok("retry", fmt.Sprint(id))
			e.waitState(id, "running")
			e.cancel(id, "--now")
			e.waitState(id, "cancelled")
		})
	}
}

// TestCancel_OKThatComesBeforeIsSuccess: the agent finishes what it has when
// it is hung up.
func TestCancel_OKThatComesBeforeIsSuccess(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", `trap 'go=1' HUP; `+note+`; [ "$line" = long ] && { until [ "$go" ]; do sleep 0.01; done; sleep 0.1; }`)
	e.serve("limits: {kill_after: 50s}\n" + agents("type: a, command: ["+agent+"]"))
	id := e.insert("type, args", "a", "long")
	pgtest.Eventually(t, patience, "it runs", func() bool { return len(e.lines("ran")) == 1 })
	e.waitState(id, "running")
	e.cancel(id)
	if j := e.waitState(id, "succeeded"); j.ExitCode != 0 || j.Error != "" {
		t.Errorf("it is %+v", j)
	}
	e.healthy("a")
}

// TestCancel_WhoGivesUpIsCancelled: the agent says that the line failed, since it
// was told to stop. That is no failed attempt: the job is not tried again.
func TestCancel_WhoGivesUpIsCancelled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	warm := e.script("warm", `trap 'go=1' HUP; echo '{"bellhop":1,"type":"a"}'
while IFS= read -r line; do `+note+`; until [ "$go" ]; do sleep 0.01; done; echo '{"fail":"told to stop","exit_code":9}'; done`)
	exec := e.script("exec", `trap 'exit 9' HUP; line=$1; `+note+`; while :; do sleep 0.01; done`)
	e.serve("limits: {kill_after: 50s}\n" + agents("type: a, command: ["+warm+"]", "type: b, mode: exec, command: ["+exec+"]"))
	for n, typ := range []string{"a", "b"} {
		id := e.insert("type, args, max_attempts", typ, "long", 5)
		pgtest.Eventually(t, patience, "it runs", func() bool { return len(e.lines("ran")) == n+1 })
		e.waitState(id, "running")
		e.cancel(id)
		if j := e.waitState(id, "cancelled"); j.Attempt != 1 || !strings.Contains(j.Error, "cancelled") {
			t.Errorf("%s: it is %+v", typ, j)
		}
	}
}

func TestCancel_OfWhatIsOverChangesNothing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, mode: exec, command: [" + e.script("agent", "exit $1") + "]"))
	for args, state := range map[string]string{"0": "succeeded", "5": "failed"} {
		id := e.insert("type, args", "a", args)
		e.waitState(id, state)
		before := value[string](e, "select j::text from bellhop.jobqueue j where id = $1", id)
		has(t, e.cancel(id), state)
		has(t, e.cancel(id, "--now"), state)
		if after := value[string](e, "select j::text from bellhop.jobqueue j where id = $1", id); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
	}
	if r := e.run("cancel", "4711"); r.code != 3 {
		t.Errorf("of no job: %+v", r)
	}
}

// TestRow_ChangedByHandWhileItRuns: whoever does that is right. The agent is
// stopped within a safety scan, and nothing is written over the change.
func TestRow_ChangedByHandWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"deleted":    "delete from bellhop.jobqueue where id = $1",
		"failed":     "update bellhop.jobqueue set state = 'failed', error = 'by hand', ended_at = now() where id = $1",
		"other hand": "update bellhop.jobqueue set fence = fence + 100, error = 'by hand' where id = $1",
		"no hand":    "update bellhop.jobqueue set instance = null, state = 'held', held = true, error = 'by hand' where id = $1",
	} {
		for _, mode := range []string{"warm", "exec"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				e := setup(t)
				body := note + `; [ "$line" = long ] && { trap '' HUP TERM; sleep 1000; }`
				agent := e.worker("agent", body)
				if mode == "exec" {
					agent = e.script("agent", "line=$1; "+body+"; true")
				}
				i := e.serve(agents("type: a, mode: " + mode + ", command: [" + agent + "]"))
				id := e.insert("type, args, max_attempts", "a", "long", 3)
				pgtest.Eventually(t, patience, "it runs", func() bool { return len(e.lines("ran")) == 1 })
				e.waitState(id, "running")
				e.sql(change, id)
				row := func() string {
					return value[string](e, "select coalesce((select j::text from bellhop.jobqueue j where id = $1), 'no row')", id)
				}
				changed := row()
				began := time.Now()
				pgtest.Eventually(t, patience, "the agent is stopped", func() bool { return len(i.processes()) == 0 })
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("the agent was stopped after %v, the safety scan is 5 s", took)
				}
				e.healthy("a")
				e.healthy("a")
				if now := row(); now != changed {
					t.Errorf("it was changed to\n%s\nand is\n%s", changed, now)
				}
				if got := e.lines("ran"); !slices.Equal(got, []string{"long", "good", "good"}) {
					t.Errorf("ran %q", got)
				}
				e.sql("delete from bellhop.jobqueue where id = $1", id)
			})
		}
	}
}
