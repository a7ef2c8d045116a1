package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// note is what a worker does that only tells that it did it.
const note = `echo "$line" >>$DIR/ran`

// withNote serves one type, a, whose agent notes its lines in the file ran.
func withNote(t *testing.T) (*env, *instance) {
	e := setup(t)
	return e, e.serve(agents("type: a, command: [" + e.worker("agent", note) + "]"))
}

// healthy checks that the next job of a type runs.
func (e *env) healthy(typ string) {
	e.t.Helper()
	e.waitState(e.insert("type, args", typ, "good"), "succeeded")
}

// By scans alone each job but the first would take the 5 s from one scan to the next, however fast the machine is.
func TestInsert_WaitsForNoScan(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	e.healthy("a") // brings a child up
	psql, _ := exec.LookPath("psql")
	insert := "insert into bellhop.jobqueue (type, args) values ('a', 'x')"
	best := time.Hour
	for n := range 5 {
		began := time.Now()
		if psql == "" {
			e.sql(insert)
		} else if out, err := exec.Command(psql, "-X", e.url, "-c", insert).CombinedOutput(); err != nil {
			t.Fatalf("psql: %v\n%s", err, out)
		}
		e.waitAll(fmt.Sprintf("succeeded %d", value[int](e, "select count(*) from bellhop.jobqueue")))
		if n > 0 { // the first may be just ahead of one
			best = min(best, time.Since(began))
		}
	}
	if best > 4*time.Second { // the best, since somebody else may need the machine too
		t.Errorf("from INSERT to its end it took %v at best", best)
	}
	if n := len(e.lines("ran")); n != 6 {
		t.Errorf("ran %d times, want 6", n)
	}
}

func TestRollback_NeverRuns(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "insert into bellhop.jobqueue (type, args) values ('a', 'undone')"); err != nil {
		t.Fatal(err)
	}
	e.healthy("a") // while the other is not committed
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.healthy("a")
	if got := e.lines("ran"); !slices.Equal(got, []string{"good", "good"}) {
		t.Errorf("ran %q", got)
	}
}

func TestLateCommit_WithALowerIDIsNotSkipped(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var early int64
	if err := tx.QueryRow(t.Context(), "insert into bellhop.jobqueue (type, args) values ('a', 'early') returning id").Scan(&early); err != nil {
		t.Fatal(err)
	}
	late := e.insert("type, args", "a", "late")
	e.waitState(late, "succeeded")
	if err := tx.Commit(t.Context()); err != nil || early >= late {
		t.Fatalf("ids %d and %d: %v", early, late, err)
	}
	e.waitState(early, "succeeded")
	if got := e.lines("ran"); !slices.Equal(got, []string{"late", "early"}) {
		t.Errorf("ran %q", got)
	}
}

// TestKick: without a trigger nothing rings; a kick finds the jobs long before
// the safety scan would, and the safety scan finds what nobody kicked for.
func TestKick_AndSafetyScanFindWhatDidNotRing(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	e.sql("alter table bellhop.jobqueue disable trigger user")
	kicks := []func(){
		func() { e.ok("kick") },
		func() { e.sql("select bellhop.kick()") },
		func() { e.sql("notify bellhop") },
		func() { e.sql(`notify bellhop, '{"shutdown": "now"}; drop table; 17'`) },
	}
	late := 0
	for range 4 {
		for _, kick := range kicks {
			id := e.insert("type", "a")
			kick()
			began := time.Now()
			if e.waitState(id, "succeeded"); time.Since(began) > 2500*time.Millisecond {
				late++
			}
		}
	}
	if late > 4 { // half of what waits for the scan, which comes every 5 s, waits for longer
		t.Errorf("%d of 16 kicks were not heard", late)
	}
	id := e.insert("type", "a")
	e.waitState(id, "succeeded") // by the scan
	held, due := e.insert("type, held", "a", true), e.insert("type, run_at", "a", time.Now().Add(time.Hour))
	e.ok("kick")
	e.waitState(e.insert("type", "a"), "succeeded")
	e.waitState(held, "held") // a look at the queue has put right what no trigger did
	e.waitState(due, "scheduled")
	if e.job(held).Attempt+e.job(due).Attempt != 0 {
		t.Errorf("a claim did not look at held and run_at itself: %+v, %+v", e.job(held), e.job(due))
	}
}

func TestRunAt_IsMetAndNotEarly(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	far := e.insert("type, args, run_at", "a", "far", time.Now().Add(time.Hour))
	var late []float64
	for range 3 {
		id := value[int64](e,
			"insert into bellhop.jobqueue (type, run_at) values ('a', clock_timestamp() + interval '1.2 s') returning id")
		if !value[bool](e, "select state = 'scheduled' or run_at <= clock_timestamp() from bellhop.jobqueue where id = $1",
			id) {
			t.Error("it is not scheduled before its time")
		}
		e.waitState(id, "succeeded")
		late = append(late, value[float64](e, "select extract(epoch from started_at - run_at)::float8 from bellhop.jobqueue where id = $1", id))
	}
	if slices.Min(late) < 0 {
		t.Errorf("started early: %v s", late)
	}
	if slices.Min(late) > 1 {
		t.Errorf("started late: %v s", late)
	}
	past := e.insert("type, run_at", "a", time.Now().Add(-time.Hour))
	e.waitState(past, "succeeded")
	if s := e.state(far); s != "scheduled" {
		t.Errorf("the one of an hour hence is %s", s)
	}
	e.sql("update bellhop.jobqueue set run_at = now() where id = $1", far) // moved by hand
	e.waitState(far, "succeeded")
}

func TestHeld_WaitsForRelease(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	id := e.insert("type, args, held, key", "a", "held", true, "mine")
	e.healthy("a")
	if s := e.state(id); s != "held" {
		t.Fatalf("it is %s", s)
	}
	e.ok("release", "mine")
	e.waitState(id, "succeeded")
	if got := e.lines("ran"); !slices.Equal(got, []string{"good", "held"}) {
		t.Errorf("ran %q", got)
	}
}

func TestRetry_OpensANewAttemptAndKeepsTheOld(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `[ -e $DIR/mended ] || { echo "no paper" >&2; exit 3; }`)
	e.serve(agents("type: print, mode: exec, command: [" + agent + "]"))
	id := e.insert("type", "print")
	if j := e.waitState(id, "failed"); j.ExitCode != 3 || !strings.Contains(j.Error, "no paper") {
		t.Errorf("first: %+v", j)
	}
	e.file("mended", "", 0o644)
	e.ok("retry", fmt.Sprint(id))
	if j := e.waitState(id, "succeeded"); j.Attempt != 2 || j.ExitCode != 0 || j.Error != "" {
		t.Errorf("second: %+v", j)
	}
	got := column[string](e, `select concat_ws(' ', attempt, exit_code, split_part(error, ';', 1), started_at <= ended_at, child) from bellhop.attempt where job = $1 order by attempt`, id)
	if len(got) != 2 || !strings.HasPrefix(got[0], "1 3 ") || !strings.Contains(got[0], " t print.") || got[1] != "2 0 t print.1" {
		t.Errorf("attempts: %q", got)
	}
}

func TestMaxAttempts_TriesAgainWithGrowingPauses(t *testing.T) {
	t.Parallel()
	e := setup(t)
	agent := e.script("agent", `echo "$BELLHOP_ATTEMPT" >>$DIR/ran; [ "$BELLHOP_ATTEMPT" = 3 ] && exit; echo "not yet" >&2; exit 1`)
	e.serve(agents("type: a, mode: exec, command: [" + agent + "]"))
	id, hopeless := e.insert("type, max_attempts", "a", 5), e.insert("type, max_attempts", "a", 2)
	e.waitState(id, "scheduled")
	if j := e.job(id); j.WaitingFor != "retry_delay" && j.State == "scheduled" {
		t.Errorf("in between: %+v", j)
	}
	e.waitState(id, "succeeded")
	pauses := column[float64](e, `select extract(epoch from started_at - lag(ended_at) over (order by attempt))::float8
		from bellhop.attempt where job = $1 order by attempt offset 1`, id)
	if len(pauses) != 2 || pauses[0] < 1 || pauses[1] < 2 {
		t.Errorf("pauses between attempts: %v s, want at least 1 and 2", pauses)
	}
	if j := e.waitState(hopeless, "failed"); j.Attempt != 2 || !strings.Contains(j.Error, "not yet") {
		t.Errorf("the hopeless one: %+v", j)
	}
	if n := len(e.lines("ran")); n != 5 {
		t.Errorf("%d processes for 3 and 2 attempts", n)
	}
}

func TestPriority_OrdersWhatIsCommittedTogether(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: one, slots: 1}\n" + agents("type: a, command: ["+e.worker("agent", note)+"]"))
	e.sql(`insert into bellhop.jobqueue (type, args, priority) select 'a', p || '/' || n, p
		from generate_series(1, 8) n, unnest(array[5, -20, 0, 19, -1]) p order by n, random()`)
	e.waitAll("succeeded 40")
	want := column[string](e, "select args from bellhop.jobqueue order by priority, id")
	if got := e.lines("ran"); !slices.Equal(got, want) {
		t.Errorf("ran %q\nwant %q", got, want)
	}
	e.sql(`insert into bellhop.jobqueue (type, args, priority_name) values ('a', 'zebra', 'zebra'), ('a', 'n', null), ('a', 'Apple', 'Apple')`)
	e.waitAll("succeeded 43")
	if got := e.lines("ran")[40:]; !slices.Equal(got, []string{"Apple", "n", "zebra"}) {
		t.Errorf("by name: ran %q", got)
	}
}

// TestPrefetch_NobodyWaitsBehindALongJob: what was put behind a job because
// the last ones were quick comes away again when that one is not.
func TestPrefetch_NobodyWaitsBehindALongJob(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve(calm(4) + agents(j.agent("work", "warm")))
	e.insertMany(300, "0s") // one or two children, and quick
	e.waitAll("succeeded 300")
	e.insertMany(4, "hold")
	j.waitRunning(e, i, 4)
	j.letGo()
	e.waitAll("succeeded 304")
	j.check(1)
}

// TestPriority_OrdersTypesTooWhereEachJobHasAProcess: one slot, and what is
// urgent comes first, of whatever type.
func TestPriority_OrdersTypesTooWhereEachJobHasAProcess(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve(calm(1) + agents(j.agent("other", "exec"), j.agent("work", "exec")))
	e.insertMany(1, "hold")
	j.waitRunning(e, i, 1)
	e.sql("insert into bellhop.jobqueue (type, args, priority) values ('work', '1ms', 5), ('other', '1ms', -5), ('work', '1ms', 4), ('other', '1ms', -6), ('work', '1ms', -7)")
	j.letGo()
	e.waitAll("succeeded 6")
	var got []int // as the agents tell it: started_at of two may be written together
	for _, entry := range j.entries() {
		if entry.what == "start" {
			got = append(got, value[int](e, "select priority from bellhop.jobqueue where id = $1", entry.job))
		}
	}
	if !slices.Equal(got, []int{0, -7, -6, -5, 4, 5}) {
		t.Errorf("they began in the order %v", got)
	}
}

func TestKey_IsOneJob(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	first := value[int64](e, "select bellhop.submit('a', 'x', key => 'k')")
	e.waitState(first, "succeeded")
	if again := value[int64](e, "select bellhop.submit('a', 'x', key => 'k')"); again != first {
		t.Errorf("the same again is job %d, not %d", again, first)
	}
	_, err := e.pool.Exec(t.Context(), "select bellhop.submit('a', 'y', key => 'k')")
	if err == nil || !strings.Contains(err.Error(), "args 'x', not 'y'") {
		t.Errorf("other content: %v", err)
	}
	if _, err = e.pool.Exec(t.Context(), "insert into bellhop.jobqueue (type, key) values ('a', 'k')"); err == nil ||
		!strings.Contains(err.Error(), "23505") {
		t.Errorf("plain INSERT: %v", err)
	}
	if out := e.ok("submit", "a", "x", "--key", "k"); strings.TrimSpace(out) != fmt.Sprint(first) {
		t.Errorf("submit printed %q", out)
	}
	if n := len(e.lines("ran")); n != 1 {
		t.Errorf("ran %d times", n)
	}
}

func TestManyInserts_InOneTransactionAndInMany(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		if _, err := tx.Exec(t.Context(), "insert into bellhop.jobqueue (type, args) values ('a', $1)",
			fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.sql("insert into bellhop.jobqueue (type, args) select 'a', n::text from generate_series(100, 299) n")
	for n := 300; n < 350; n++ {
		e.insert("type, args", "a", fmt.Sprint(n))
	}
	e.waitAll("succeeded 350")
	once(t, e.lines("ran"), 350)
	if n := value[int](e, "select count(*) from bellhop.jobqueue where attempt <> 1 or exit_code <> 0 or instance is null or started_at > ended_at"); n != 0 {
		t.Errorf("%d rows are not as they should be", n)
	}
}

// once checks that there are n different lines, none of them twice.
func once(t *testing.T, lines []string, n int) {
	t.Helper()
	seen := map[string]int{}
	for _, l := range lines {
		seen[l]++
	}
	if len(seen) != n || len(lines) != n {
		t.Errorf("%d lines, %d different, want %d", len(lines), len(seen), n)
	}
}

func TestUnknownType_WaitsAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	e, _ := withNote(t)
	id := e.insert("type, priority", "strange", -20)
	e.healthy("a")
	pgtest.Eventually(t, patience, "the row says why it waits",
		func() bool { return e.job(id).WaitingFor == "unknown_type" })
	if j := e.job(id); j.State != "ready" || j.Attempt != 0 {
		t.Errorf("it is %+v", j)
	}
	e.healthy("a")
}

func TestTimeout_KillsTheAgentAndFailsTheJob(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"warm", "exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			agent := e.worker("agent", `[ "$line" = slow ] && { echo $$ >>$DIR/pids; sleep 1000; }`)
			if mode == "exec" {
				agent = e.script("agent", `[ "$1" = slow ] && { echo $$ >>$DIR/pids; sleep 1000; }; true`)
			}
			i := e.serve(agents("type: a, mode: "+mode+", command: ["+agent+"]", "type: strict, timeout: 1s, mode: "+mode+", command: ["+agent+"]"))
			ids := []int64{e.insert("type, args, timeout", "a", "slow", time.Second), e.insert("type, args", "strict", "slow")}
			for _, id := range ids {
				if j := e.waitState(id, "failed"); !strings.HasPrefix(j.Error, "timeout: ") || j.Attempt != 1 {
					t.Errorf("it is %+v", j)
				}
			}
			for _, pid := range e.lines("pids") {
				if slices.Contains(i.processes(), number(t, pid)) {
					t.Errorf("the agent %s lives", pid)
				}
			}
			e.healthy("a")
			// by itself: a second may be short for a start
			e.waitState(e.insert("type, timeout", "strict", patience), "succeeded")
		})
	}
}
