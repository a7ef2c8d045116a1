package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
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

// TestLimits_ForReal: the kill rules, with short figures. Where two types take
// turns on one slot, a child goes when it has been READY for min_ready and not
// before; one that does not want to go is killed after kill_after; one without
// work goes after idle; and none of these is a death.
func TestLimits_ForReal(t *testing.T) {
	t.Parallel()
	e := setup(t)
	stubborn := e.script("c", "echo start c >>$DIR/stamps\ntrap '' HUP TERM\necho OK\nread -r line; echo line c $(date +%s%3N) >>$DIR/stamps; echo OK\nwhile :; do sleep 1000; done")
	i := e.serve("limits: {min_ready: 700ms, kill_after: 400ms, idle: 3s}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+e.stamps("a")+"]", "type: b, command: ["+e.stamps("b")+"]",
			"type: c, command: ["+stubborn+"]"))
	// The agents' own clocks: a row's ended_at is not before its start was written, which may be late.
	e.waitState(e.insert("type", "b"), "succeeded")
	e.waitState(e.insert("type", "a"), "succeeded")
	e.waitState(e.insert("type", "b"), "succeeded") // it has just made room for a, and wants it back
	if pause := e.stamped("start b")[1].Sub(e.stamped("line a")[0]); pause < 699*time.Millisecond {
		t.Errorf("b came up %v after a's last line: min_ready is 700ms", pause)
	}
	// c never goes by itself, and b's job waits for its slot.
	e.waitState(e.insert("type", "c"), "succeeded")
	e.waitState(e.insert("type", "b"), "succeeded")
	if pause := e.stamped("start b")[2].Sub(e.stamped("line c")[0]); pause < 1099*time.Millisecond {
		t.Errorf("b came up %v after c's last line: min_ready and kill_after are 1.1s", pause)
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
// while the query runs again, and another type waits. It is not started anew for
// each round; and it goes when the job is over.
func TestLimits_AnMSQJobBetweenTwoRoundsKeepsItsChild(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("limits: {min_ready: 1h}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+e.stamps("a")+"]", "type: b, command: ["+e.stamps("b")+"]"))
	msq := e.insert("type, msq, repeat", "a", "select clock_timestamp() as at from (select pg_sleep(0.3)) x",
		"until_empty")
	pgtest.Eventually(t, patience, "its first round is done", func() bool { return len(e.stamped("line a")) >= 1 })
	waits := e.insert("type", "b")
	pgtest.Eventually(t, patience, "and others, in the sight of b", func() bool { return len(e.stamped("line a")) >= 6 })
	if n := len(e.stamped("start a")); n != 1 || e.state(waits) != "ready" {
		t.Errorf("%d children of a were started, b is %s", n, e.state(waits))
	}
	e.ok("cancel", fmt.Sprint(msq))
	e.waitState(waits, "succeeded")
}

// TestLimits_NoBattleForOneSlot: work for two types, in turns and all the time,
// on one slot: once it has changed hands, it does so no more often than min_ready
// allows, and both types get done (seed 000: the start-and-kill battle).
func TestLimits_NoBattleForOneSlot(t *testing.T) {
	t.Parallel()
	e := setup(t)
	const minReady = 500 * time.Millisecond
	e.serve("limits: {min_ready: 500ms, kill_after: 1s}\nhosts:\n  - {name: local, slots: 1}\n" +
		agents("type: a, command: ["+e.stamps("a")+"]", "type: b, command: ["+e.stamps("b")+"]"))
	for range 30 {
		e.sql("insert into bellhop.jobqueue (type) values ('a'), ('b')")
		pgtest.Eventually(t, patience, "one of them has been done", func() bool {
			return value[int](e, "select count(*) from bellhop.jobqueue where state = 'ready'") < 4
		})
	}
	e.waitAll("succeeded 60")
	starts := append(e.stamped("start a"), e.stamped("start b")...)
	slices.SortFunc(starts, time.Time.Compare)
	for i := 2; i < len(starts); i++ { // the first change is none that was made before
		if pause := starts[i].Sub(starts[i-1]); pause < minReady-50*time.Millisecond {
			t.Errorf("start %d came %v after the one before: min_ready is %v", i, pause, minReady)
		}
	}
	if len(starts) < 2 {
		t.Errorf("%d starts: both types had to come up", len(starts))
	}
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
