package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// numbers is an MSQ of n items.
func numbers(n int) string { return fmt.Sprintf("select n from generate_series(1, %d) n", n) }

// counts checks what an MSQ job's row tells.
func (e *env) counts(j job, total, done, failed int64) {
	e.t.Helper()
	if j.Total != total || j.Done != done || j.Failed != failed {
		e.t.Errorf("items %d/%d/%d (total/done/failed), want %d/%d/%d", j.Total, j.Done, j.Failed, total, done, failed)
	}
}

func TestMSQ_EveryItemOnceOverAllChildren(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("agent", note+"; echo $$ >>$DIR/pids; sleep 0.001") + "]"))
	id := e.insert("type, msq", "a", numbers(2000))
	e.counts(e.waitState(id, "succeeded"), 2000, 2000, 0)
	once(t, e.lines("ran"), 2000)
	pids := map[string]int{}
	for _, pid := range e.lines("pids") {
		pids[pid]++
	}
	if len(pids) != 4 {
		t.Errorf("done by %d children: %v", len(pids), pids)
	}
	if n := value[int](e, "select count(*) from bellhop.item"); n != 0 {
		t.Errorf("%d items are kept", n)
	}
	e.healthy("a")
}

func TestMSQ_LinesAreEncoded(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql(`create table odd (n int, "two words" text, b bytea, ok bool, at timestamptz, list text[])`)
	e.sql(`insert into odd values (1, 'plain', '\x00ff', true, null, '{a,"b c"}'),
		(2, e'line\nbreak\rback\\slash "quoted"\ttab ä', null, false, null, null), (3, '', '', null, null, '{}'), (4, null, null, null, null, null)`)
	e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: a, command: ["+e.worker("agent", note)+"]"))
	e.counts(e.waitState(e.insert("type, msq", "a", "select * from odd order by n"), "succeeded"), 4, 4, 0)
	want := []string{
		`n="1" two words="plain" b="\x00ff" ok="t" list="{a,\"b c\"}"`,
		`n="2" two words="line\nbreak\rback\\slash \"quoted\"` + "\t" + `tab ä" ok="f"`,
		`n="3" two words="" b="\x" list="{}"`,
		`n="4"`,
	}
	want[0] = strings.Replace(want[0], `b="\x`, `b="\\x`, 1) // a backslash is doubled there too
	want[2] = strings.Replace(want[2], `b="\x`, `b="\\x`, 1)
	if got := e.lines("ran"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestMSQ_ThatIsWrong: the job fails and says why; nothing is changed.
func TestMSQ_ThatIsWrong(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table precious (n int)")
	e.sql("insert into precious values (1)")
	e.sql("create function meddle() returns int language sql as $$ delete from precious returning n $$")
	e.serve(agents("type: a, command: [" + e.worker("agent", note) + "]"))
	for msq, says := range map[string][]string{
		"select n frm precious":                                        {"SQLSTATE 42601", "syntax error", "at character 14", "\n  select n frm precious\n               ^"},
		"select n from nowhere":                                        {"SQLSTATE 42P01", "nowhere", "^"},
		"insert into precious values (2)":                              {"SQLSTATE 42601"},
		"with x as (delete from precious returning n) select * from x": {"SQLSTATE 0A000"},
		"select meddle()":                                              {"SQLSTATE 25006", "read-only"},
		"commit":                                                       {"SQLSTATE 42601"},
		"select 1; drop table precious":                                {"SQLSTATE 42601", "multiple commands"},
		"select 1 as n) to stdout":                                     {"SQLSTATE 42601"},
		"select from precious":                                         {"no_columns"},
		"select 10 / (3 - n) as n from generate_series(1, 5) n":        {"SQLSTATE 22012", "division by zero"},
		"select set_config('transaction_read_only', 'off', true), meddle()": {"SQLSTATE 25001"},
	} {
		j := e.waitState(e.insert("type, msq", "a", msq), "failed")
		if !strings.HasPrefix(j.Error, "msq_error: ") && !strings.HasPrefix(j.Error, "no_columns: ") {
			t.Errorf("%s: %+v", msq, j)
		}
		has(t, j.Error, says...)
	}
	if n := value[int](e, "select count(*) from precious where n = 1"); n != 1 || value[int](e, "select count(*) from precious") != 1 {
		t.Error("an MSQ has changed a table")
	}
	none := e.waitState(e.insert("type, msq", "a", "select n from precious where n > 1"), "succeeded")
	e.counts(none, 0, 0, 0)
	e.healthy("a")
	e.eventually("no query is left open", "select not exists (select from pg_stat_activity where datname = current_database() and application_name = 'bellhop msq')")
}

// TestMSQ_ThatNeverEnds is ended by its timeout, or by a cancel; the query too.
func TestMSQ_ThatNeverEnds(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	running := "select exists (select from pg_stat_activity where datname = current_database() and application_name = 'bellhop msq')"
	endless := []string{
		"select pg_sleep(100000)::text as n",
		"select n from generate_series(1, 9000000000000000) n where n < 0", // busy, and never says anything
	}
	for _, msq := range endless {
		id := e.insert("type, msq, timeout", "a", msq, time.Second)
		if j := e.waitState(id, "failed"); !strings.HasPrefix(j.Error, "timeout: ") {
			t.Errorf("it is %+v", j)
		}
		e.eventually("the query is ended", "select not "+running[len("select "):])

		id = e.insert("type, msq", "a", msq)
		e.eventually("the query runs", running)
		e.cancel(id)
		e.waitState(id, "cancelled")
		e.eventually("the query is ended", "select not "+running[len("select "):])
		e.healthy("a")
	}
}

// work makes the table that the agent consume works on.
func (e *env) work(rows int) (agent string) {
	e.t.Helper()
	e.sql("create table work (id int primary key, done int not null default 0)")
	e.sql("insert into work select n from generate_series(1, $1::int) n", rows)
	self, err := os.Executable()
	if err != nil {
		e.t.Fatal(err)
	}
	return fmt.Sprintf("type: consume, command: [%q, consume, %q]", self, e.url)
}

func TestMSQ_UntilEmptyConsumesATable(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents(e.work(230)))
	id := e.insert("type, msq", "consume", "select id from work where done = 0 order by id limit 50")
	e.counts(e.waitState(id, "succeeded"), 230, 230, 0)
	if got := value[string](e, "select min(done) || ' ' || max(done) from work"); got != "1 1" {
		t.Errorf("rows were done (least, most) %s times", got)
	}
	// Once is once, LIMIT or not.
	e.sql("update work set done = 0")
	id = e.insert("type, msq, repeat", "consume", "select id from work where done = 0 order by id limit 50", "once")
	e.counts(e.waitState(id, "succeeded"), 50, 50, 0)
	if n := value[int](e, "select sum(done) from work"); n != 50 {
		t.Errorf("%d rows were done", n)
	}
	// And until empty is that without a LIMIT too.
	id = e.insert("type, msq, repeat", "consume", "select id from work where done = 0", "until_empty")
	e.counts(e.waitState(id, "succeeded"), 180, 180, 0)
}

func TestMSQ_FailedItemsAreCountedAndKept(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `echo "$1" >>$DIR/ran; case $1 in *'7"') echo "no sevens" >&2; exit 4;; esac`)
	e.serve(agents("type: a, mode: exec, command: [" + agent + "]"))
	id := e.insert("type, msq", "a", numbers(40))
	j := e.waitState(id, "failed")
	e.counts(j, 40, 36, 4)
	has(t, j.Error, "items_failed", "4 of 40", "bellhop.item")
	want := []string{`n="17" 3 4`, `n="27" 3 4`, `n="37" 3 4`, `n="7" 3 4`}
	if got := column[string](e, "select line || ' ' || tries || ' ' || exit_code from bellhop.item where job = $1 and error like '%no sevens%' order by line", id); !slices.Equal(got, want) {
		t.Errorf("kept %q", got)
	}
	if n := len(e.lines("ran")); n != 36+4*3 {
		t.Errorf("%d processes", n)
	}
	has(t, e.ok("show", fmt.Sprint(id)), "failed")
}

func TestMSQ_NoProgressEnds(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table work (id int)")
	e.sql("insert into work select generate_series(1, 5)")
	agent := e.script("agent", `echo "$1" >>$DIR/ran; case $1 in *bad*) exit 1;; esac`)
	e.serve(agents("type: a, mode: exec, command: [" + agent + "]"))
	idle := e.waitState(e.insert("type, msq", "a", "select id from work limit 3"), "failed") // OK, and nothing changes
	has(t, idle.Error, "no_progress", "the same 3 rows")
	if n := len(e.lines("ran")); n > 15 {
		t.Errorf("%d items before it was noticed", n)
	}
	bad := e.waitState(e.insert("type, msq", "a", "select 'bad' || id as n from work limit 3"), "failed")
	has(t, bad.Error, "no_progress", "failed 3 times")
	e.counts(bad, 3, 0, 3)
}

func TestMSQ_PoisonCostsThatItemOnly(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", `echo "$line" >>$DIR/ran; [ "$line" = 'n="50"' ] && { echo "choked" >&2; exit 6; }`)
	e.serve(agents("type: a, command: [" + agent + "]"))
	id := e.insert("type, msq", "a", numbers(200))
	j := e.waitState(id, "failed")
	e.counts(j, 200, 199, 1)
	ran := e.lines("ran")
	if len(ran) != 202 {
		t.Errorf("%d lines, want 199 and thrice the bad one", len(ran))
	}
	if got := column[string](e, "select line || ' ' || tries || ' ' || exit_code || ' ' || error from bellhop.item where job = $1", id); len(got) != 1 ||
		!strings.HasPrefix(got[0], `n="50" 3 6 `) || !strings.Contains(got[0], "choked") {
		t.Errorf("kept %q", got)
	}
	e.healthy("a")
}

func TestMSQ_CancelStopsItAtOnce(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", note+`; [ "$line" = good ] || sleep 0.2`)
	i := e.serve("limits: {kill_after: 50s}\n"+agents("type: a, command: ["+agent+"]"), "-v")
	id := e.insert("type, msq", "a", numbers(100000))
	e.eventually("it is under way and the cursor is open", `select coalesce(items_done, 0) > 2 and exists
		(select from pg_stat_activity where datname = current_database() and application_name = 'bellhop msq') from bellhop.jobqueue where id = $1`, id)
	e.cancel(id)
	j := e.waitState(id, "cancelled")
	ran := len(e.lines("ran"))
	// A child that was between two items has nothing of it in hand, and lives on.
	killed := strings.Count(i.said(), `"reason":"cancel: cancelled"`)
	if left := i.processes(); killed == 0 || len(left) > 4-killed {
		t.Errorf("%d of 4 children were killed, and %d processes live", killed, len(left))
	}
	if j.Total != -1 || j.Done < 3 || j.Done > int64(ran) || j.Failed != 0 {
		t.Errorf("it is %+v, with %d items run", j, ran)
	}
	e.eventually("the cursor is closed", "select not exists (select from pg_stat_activity where datname = current_database() and application_name = 'bellhop msq')")
	e.healthy("a")
	if again := len(e.lines("ran")); again != ran+1 {
		t.Errorf("%d items ran after the cancel", again-ran-1)
	}
}

// TestMSQ_LetsOthersHaveTheirTurn: a job of the same type and priority does not
// wait for the end of a long MSQ; an urgent one is the next.
func TestMSQ_LetsOthersHaveTheirTurn(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.worker("agent", note+"; sleep 0.01")
	e.serve("hosts:\n  - {name: local, slots: 1}\n" + agents("type: a, command: ["+agent+"]"))
	long := e.insert("type, msq", "a", numbers(100000))
	e.eventually("it is under way", "select coalesce(items_done, 0) > 10 from bellhop.jobqueue where id = $1", long)
	for range 3 {
		e.waitState(e.insert("type, args", "a", "equal"), "succeeded")
	}
	var behind []int
	for range 3 {
		before := len(e.lines("ran"))
		e.waitState(e.insert("type, args, priority", "a", "urgent", -20), "succeeded")
		ran := e.lines("ran")[before:]
		behind = append(behind, slices.Index(ran, "urgent"))
	}
	if best := slices.Min(behind); best > 50 {
		t.Errorf("the urgent job came after %d items at best", best)
	}
	if j := e.job(long); j.State != "running" || j.Done > 50000 {
		t.Errorf("the long one is %+v", j)
	}
	other := e.insert("type, msq", "a", strings.Replace(numbers(50), "n from", "-n as n from", 1))
	e.counts(e.waitState(other, "succeeded"), 50, 50, 0) // two share
	if s := e.state(long); s != "running" {
		t.Errorf("the long one is %s", s)
	}
	e.cancel(long)
	e.waitState(long, "cancelled")
}

func TestMSQ_TwoShareTheChildren(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("agent", note+"; sleep 0.01") + "]"))
	ids := column[int64](e, "insert into bellhop.jobqueue (type, msq) values ('a', $1), ('a', 'select n as m from generate_series(1, 400) n') returning id", numbers(400))
	one, two := ids[0], ids[1]
	e.counts(e.waitState(one, "succeeded"), 400, 400, 0)
	e.counts(e.waitState(two, "succeeded"), 400, 400, 0)
	ran := e.lines("ran")
	once(t, ran, 800)
	half := 0
	for _, l := range ran[:400] {
		if strings.HasPrefix(l, "n=") {
			half++
		}
	}
	if half < 100 || half > 300 {
		t.Errorf("of the first 400 items %d were of one of the two", half)
	}
}

// TestMSQ_ConnectionLostMidQuery: the query runs again, and the job ends well.
func TestMSQ_ConnectionLostMidQuery(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(agents("type: a, command: [" + e.worker("agent", note+"; sleep 0.001") + "]"))
	const rows = 3000 // more than are read ahead, as wide as they are
	id := e.insert("type, msq", "a",
		fmt.Sprintf("select n, repeat('x', 1000) as wide from generate_series(1, %d) n", rows))
	e.eventually("it is under way", "select coalesce(items_done, 0) > 10 from bellhop.jobqueue where id = $1", id)
	pgtest.Eventually(t, patience, "its connection is cut", func() bool {
		return value[int](e, `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where datname = current_database() and application_name = 'bellhop msq'`) == 1
	})
	j := e.waitState(id, "succeeded")
	e.counts(j, rows, rows, 0)
	if j.Attempt != 1 {
		t.Errorf("it is %+v", j)
	}
	seen := map[string]bool{}
	for _, l := range e.lines("ran") {
		seen[l] = true
	}
	if len(seen) != rows {
		t.Errorf("%d of %d items ran", len(seen), rows)
	}
	e.healthy("a")
}
