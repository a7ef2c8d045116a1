package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// stamps is an agent that writes down when it is started, and when it begins each line.
func (e *env) stamps(name string) string {
	return e.script(name, "echo start "+name+" $(date +%s%3N) >>$DIR/stamps\ntrap '' HUP\necho OK\nwhile IFS= read -r line; do echo line "+name+" $(date +%s%3N) >>$DIR/stamps; echo OK; done\n")
}

// stamped gives the times at which something was written down.
func (e *env) stamped(what string) (at []time.Time) {
	for _, line := range e.lines("stamps") {
		var ms int64
		if rest, ok := strings.CutPrefix(line, what+" "); ok {
			if _, err := fmt.Sscan(rest, &ms); err == nil {
				at = append(at, time.UnixMilli(ms))
			}
		}
	}
	return at
}

// TestLimits_ForReal: the kill rules, with short figures. A child without work
// goes at once for another type, and comes back at once when it has some, however
// long min_ready is; one that does not want to go is killed after kill_after; one
// without work goes after idle; and none of these is a death.
func TestLimits_ForReal(t *testing.T) {
	t.Parallel()
	e := setup(t)
	stubborn := e.script("c", "echo start c >>$DIR/stamps\ntrap '' HUP TERM\necho OK\nread -r line; echo line c $(date +%s%3N) >>$DIR/stamps; echo OK\nwhile :; do sleep 1000; done")
	i := e.serve("limits: {min_ready: 1h, kill_after: 400ms, idle: 3s}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+e.stamps("a")+"]", "type: b, command: ["+e.stamps("b")+"]",
			"type: c, command: ["+stubborn+"]"))
	// The agents' own clocks: a row's ended_at is not before its start was written, which may be late.
	for _, typ := range []string{"b", "a", "b", "c", "b"} { // c never goes by itself, and b's job waits for its slot
		e.waitState(e.insert("type", typ), "succeeded")
	}
	if pause := e.stamped("start b")[2].Sub(e.stamped("line c")[0]); pause < 399*time.Millisecond {
		t.Errorf("b came up %v after c's last line: kill_after is 400ms", pause)
	}
	pgtest.Eventually(t, patience, "without work it goes", func() bool { return len(i.processes()) == 0 })
	if gone := time.Since(e.stamped("line b")[2]); gone < 3*time.Second {
		t.Errorf("gone after %v; idle is 3s", gone)
	}
	if n := value[int](e, "select coalesce(sum(deaths), 0)::int from bellhop.jobqueue") + value[int](e, "select coalesce(sum(deaths), 0)::int from bellhop.child"); n != 0 {
		t.Errorf("%d deaths are counted, all of them were our wish", n)
	}
}

// TestLimits_AnIdleSlotIsNotWaitedFor: README's own configuration, and a machine
// with nothing to do: the children of a type that has no more work go at once
// for another's job, though min_ready is an hour.
func TestLimits_AnIdleSlotIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	e := setup(t)
	upper, err := filepath.Abs("../agents/examples/upper.sh")
	if err != nil {
		t.Fatal(err)
	}
	e.serve("limits: {min_ready: 1h}\n" + agents("type: upper, command: ["+upper+"]",
		"type: sh, command: [sh, -c], mode: exec"))
	for range 3 { // whoever came up in the place of another is not the one that goes next
		e.ok("submit", "upper", "--msq", "select g from generate_series(1,1000) g", "--wait")
		e.waitState(e.insert("type, args", "sh", "echo hello"), "succeeded")
	}
}

// TestLimits_MoreWarmTypesThanSlots: types whose work comes in turns on a machine
// that is idle but for them. What has happened before is no reason to wait: no
// job waits for anything like min_ready, which is so long that a slow machine is told from a wait.
func TestLimits_MoreWarmTypesThanSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots, types int
		work         []string // what is inserted, one after the other is done
	}{
		{1, 2, []string{"'t0'", "'t1'", "'t0'", "'t1'", "'t0'", "'t1'"}},
		{4, 8, []string{"'t' || g % 8 from generate_series(1, 800) g", "'t' || g % 8 from generate_series(1, 800) g", "'t0'", "'t4'", "'t1'", "'t5'"}},
		{10, 200, []string{"'t' || g from generate_series(0, 19) g", "'t50'", "'t100'", "'t150'", "'t1'", "'t199'", "'t50'"}},
	} {
		t.Run(fmt.Sprintf("%d slots, %d types", c.slots, c.types), func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			agent := e.script("agent", "echo OK\nwhile IFS= read -r line; do echo OK; done")
			var all []string
			for i := range c.types {
				all = append(all, fmt.Sprintf("type: t%d, command: [%s]", i, agent))
			}
			e.serve(fmt.Sprintf("limits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: %d}\n", c.slots) + agents(all...))
			for _, work := range c.work {
				e.sql("insert into bellhop.jobqueue (type) select " + work)
				e.eventually("it is done", "select not exists (select from bellhop.jobqueue where state <> 'succeeded')")
			}
			if longest := value[float64](e, "select max(extract(epoch from ended_at - created_at))::float8 from bellhop.jobqueue"); longest >= 120 {
				t.Errorf("a job took %.1f s beside idle children of other types", longest)
			}
		})
	}
}

// TestLimits_IdleChildrenOfAnyTypeMakeRoom: the same where every slot is known
// to be held, for a warm type, and for one that has a child already and wants
// another.
func TestLimits_IdleChildrenOfAnyTypeMakeRoom(t *testing.T) {
	t.Parallel()
	e := setup(t)
	waits := func(name string) string {
		return e.worker(name, `echo "$line" >>$DIR/up; while [ ! -e "$DIR/$line" ]; do sleep 0.01; done`)
	}
	e.serve("limits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: 3}\n" + agents("type: a, command: ["+waits("a")+"]",
		"type: b, command: ["+waits("b")+"]"))
	at := func(n int) { // so many are at it, all told
		t.Helper()
		pgtest.Eventually(t, patience, fmt.Sprintf("%d are at it", n), func() bool { return len(e.lines("up")) == n })
	}
	e.sql("insert into bellhop.jobqueue (type, args) select 'a', 'first' from generate_series(1, 3)")
	at(3)
	e.file("first", "", 0o644)
	e.waitAll("succeeded 3")
	e.insert("type, args", "b", "second")
	at(4)
	e.insert("type, args", "b", "second") // b's child is busy, two of a are idle
	at(5)
	e.file("second", "", 0o644)
	e.waitAll("succeeded 5")
}

// TestLimits_AnMSQJobBetweenTwoRoundsKeepsItsChild: its child has nothing to do
// while the query runs again, and another type waits. It takes longer to start than
// the pause lasts, so it is not started anew for each round, and explain says until
// when it is kept; and it goes when the job is over.
func TestLimits_AnMSQJobBetweenTwoRoundsKeepsItsChild(t *testing.T) {
	t.Parallel()
	e := setup(t)
	slow := e.script("slow", "echo start a $(date +%s%3N) >>$DIR/stamps\nsleep 4\necho OK\nwhile IFS= read -r line; do echo line a $(date +%s%3N) >>$DIR/stamps; echo OK; done")
	e.serve("instance: {heartbeat: 200ms}\nlimits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+slow+"]", "type: b, command: ["+e.stamps("b")+"]"))
	msq := e.insert("type, msq, repeat", "a", "select clock_timestamp() as at from (select pg_sleep(0.3)) x",
		"until_empty")
	pgtest.Eventually(t, patience, "its first round is done", func() bool { return len(e.stamped("line a")) >= 1 })
	waits := e.insert("type", "b")
	pgtest.Eventually(t, patience, "and others, in the sight of b", func() bool { return len(e.stamped("line a")) >= 6 })
	if n := len(e.stamped("start a")); n != 1 || e.state(waits) != "ready" {
		t.Errorf("%d children of a were started, b is %s", n, e.state(waits))
	}
	pgtest.Eventually(t, patience, "explain says until when it is kept", func() bool {
		why := e.ok("explain", fmt.Sprint(waits))
		return strings.Contains(why, "and makes room for b in ") && strings.Contains(why, " s: as long as a start takes")
	})
	e.ok("cancel", fmt.Sprint(msq))
	e.waitState(waits, "succeeded")
}

// TestLimits_AQuickStarterIsNotKept: the same with a child that starts at once.
// Though its type has work, and min_ready is an hour, another type has its turn
// between two rounds.
func TestLimits_AQuickStarterIsNotKept(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("limits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+e.stamps("a")+"]", "type: b, command: ["+e.stamps("b")+"]"))
	msq := e.insert("type, msq, repeat", "a", "select clock_timestamp() as at from (select pg_sleep(5)) x", "until_empty")
	pgtest.Eventually(t, patience, "its first round is done", func() bool { return len(e.stamped("line a")) >= 1 })
	e.waitState(e.insert("type", "b"), "succeeded")
	lines := len(e.stamped("line a"))
	pgtest.Eventually(t, patience, "and the rounds go on", func() bool { return len(e.stamped("line a")) > lines })
	e.ok("cancel", fmt.Sprint(msq))
}

// TestAgent_TenDieAtOnce: each death is told apart from the others (seed 000:
// several looked like one).
func TestAgent_TenDieAtOnce(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent",
		`echo "$line" >>$DIR/up; while [ ! -e $DIR/now ]; do sleep 0.01; done; echo "last words of $line" >&2; exit $line`)
	e.serve(
		"limits: {deaths: 100, window: 1m}\nhosts:\n  - {name: local, slots: 10}\n" + agents("type: a, command: ["+agent+"]"))
	e.sql("insert into bellhop.jobqueue (type, args) select 'a', 10 + n from generate_series(1, 10) n")
	pgtest.Eventually(t, patience, "ten are at it", func() bool { return len(e.lines("up")) == 10 })
	e.file("now", "", 0o644)
	e.waitAll("failed 10")
	if n := value[int](e, "select count(*) from bellhop.jobqueue where exit_code = args::int and error like '%last words of ' || args"); n != 10 {
		t.Errorf("%d of 10 jobs have their own agent's exit code and last words", n)
	}
	if n := value[int](e, "select count(distinct child) from bellhop.attempt"); n != 10 {
		t.Errorf("%d children are told apart", n)
	}
	if n := value[int](e, "select sum(deaths) from bellhop.jobqueue"); n != 10 {
		t.Errorf("%d deaths are counted", n)
	}
}
