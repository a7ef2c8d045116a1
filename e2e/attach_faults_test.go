package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bellhop/pgdev/pgtest"
)

// guardedWork is a command that tells when two of one key, or more than a pool,
// run at once; it holds its place with a lock that goes with its process.
const guardedWork = `
exec 8>$DIR/key.$1; flock -n 8 || echo $1 >> $DIR/twice
place=
for n in $(seq 1 $POOL); do exec 9>$DIR/place.$n; if flock -n 9; then place=$n; break; fi; done
[ -n "$place" ] || echo $1 >> $DIR/crowd
sleep 0.0$((RANDOM % 9))
echo $1 >> $DIR/done`

// A pool is counted in the database: over all instances, at once, whatever is
// asked for how fast; a place that is free is filled when it is, not later.
func TestAttach_APoolHoldsOverAllInstances(t *testing.T) {
	t.Parallel()
	e := setup(t)
	one, two := e.serve(obeys), e.serve(obeys)
	const rows, pool = 120, 3
	e.sql("create table jobs (id integer primary key, dispatch timestamptz)")
	e.ok("attach", "jobs", "--pool", "0", "--index", "--cmd",
		e.script("work", strings.ReplaceAll(guardedWork, "$POOL", fmt.Sprint(pool))))
	e.sql("insert into jobs select generate_series(1, $1::int)", rows)
	e.rowBecause("jobs", "7", "pool_paused")
	if n := value[int](e, "select count(*) from bellhop.jobqueue"); n > 0 {
		t.Errorf("%d rows were taken with a pool of 0", n)
	}
	e.ok("attach", "jobs", "--pool", fmt.Sprint(pool)) // live
	e.ran("jobs", "dispatch")
	got := e.lines("done")
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); len(got) != rows || n != rows {
		t.Errorf("%d runs of %d rows, want %d", len(got), n, rows)
	}
	if crowd, twice := e.lines("crowd"), e.lines("twice"); len(crowd)+len(twice) > 0 {
		t.Errorf("more than %d at once: %q; two of one key: %q", pool, crowd, twice)
	}
	// And nothing piles up, nor is a good end told as an error.
	if n := value[int](e, "select count(*) from pg_stat_activity where application_name = 'bellhop attacher' and datname = current_database()"); n != 2 {
		t.Errorf("%d connections of two instances look for rows", n)
	}
	if n := value[int](e, "select count(*) from bellhop.jobqueue where error is not null or exit_code <> 0") + value[int](e, "select count(*) from bellhop.log where level <> 'out'"); n > 0 {
		t.Errorf("%d good ends are told as errors", n)
	}
	for _, i := range []*instance{one, two} {
		pgtest.Eventually(t, patience, "no zombie is left, and no descriptor", func() bool {
			fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", i.cmd.Process.Pid))
			return err == nil && len(fds) < 40 && zombies(i.cmd.Process.Pid) == 0
		})
		if strings.Contains(i.said(), `"level":"ERROR"`) {
			t.Errorf("it said:\n%s", i.said())
		}
	}
}

// zombies counts the dead children of a process that it has not waited for.
func zombies(parent int) (n int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ")
		if strings.HasPrefix(rest, fmt.Sprintf("Z %d ", parent)) {
			n++
		}
	}
	return n
}

// A full pool says so, and the next row starts when a place is free: long
// before any scan.
func TestAttach_AFullPoolSaysSo(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table jobs (id integer primary key, dispatch timestamptz)")
	e.ok("attach", "jobs", "--pool", "1", "--cmd", e.script("work", `while [ ! -e $DIR/go.$1 ]; do sleep 0.02; done; echo $1 >> $DIR/done`))
	e.sql("insert into jobs values (3), (1), (2)")
	e.eventually("the first runs", "select count(*) = 1 from bellhop.jobqueue where state = 'running'")
	e.rowBecause("jobs", "3", "pool_full", "All 1 places")
	has(t, e.ok("attachments"), "jobs", "1        1")
	for _, n := range []string{"1", "2", "3"} {
		e.file("go."+n, "", 0o600)
	}
	e.ran("jobs", "dispatch")
	if got := e.lines("done"); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("in the order %q, want that of the keys", got)
	}
	e.rowBecause("jobs", "3", "row_ran", "succeeded")
	e.rowBecause("jobs", "99", "not_taken/missing")
}

// Whatever is killed whenever: no request is lost, and no row runs twice at once.
func TestAttach_KilledSchedulersLoseNothing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	const rows, pool = 60, 4
	e.sql("create table jobs (id integer primary key, dispatch timestamptz, wanted integer not null default 1)")
	e.ok("attach", "jobs", "--pool", fmt.Sprint(pool), "--cmd",
		e.script("work", strings.ReplaceAll(guardedWork, "$POOL", fmt.Sprint(pool))))
	instances := []*instance{e.serve(obeys), e.serve(obeys)}
	e.sql("insert into jobs select generate_series(1, $1::int)", rows)
	for round := range 6 {
		e.eventually("something runs", "select exists (select from bellhop.jobqueue where state = 'running') or not exists (select from jobs where dispatch is null)")
		n := rand.IntN(2)
		if err := instances[n].cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-instances[n].exited
		e.sql("update jobs set dispatch = null, wanted = wanted + 1 where id % 10 = $1::int and dispatch is not null", round)
		instances[n] = e.serve(obeys)
	}
	e.ran("jobs", "dispatch")
	done := map[string]int{}
	for _, id := range e.lines("done") {
		done[id]++
	}
	if len(done) != rows {
		t.Errorf("%d rows ran, want %d", len(done), rows)
	}
	for _, id := range column[string](e, "select j.key from bellhop.jobqueue j where state <> 'succeeded'") {
		t.Errorf("%s did not succeed", id)
	}
	if crowd, twice := e.lines("crowd"), e.lines("twice"); len(crowd)+len(twice) > 0 {
		t.Errorf("more than %d at once: %q; two of one key: %q", pool, crowd, twice)
	}
}

// A database that goes down in the middle, and comes back.
func TestAttach_TheDatabaseGoesDown(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Cluster(t)
	e := on(t, cluster.URL())
	e.ok("migrate")
	e.sql("create table jobs (id integer primary key, dispatch timestamptz)")
	const rows, pool = 40, 3
	e.ok("attach", "jobs", "--pool", fmt.Sprint(pool), "--cmd",
		e.script("work", strings.ReplaceAll(guardedWork, "$POOL", fmt.Sprint(pool))))
	e.serve(obeys)
	e.sql("insert into jobs select generate_series(1, $1::int)", rows)
	e.eventually("something ran", "select exists (select from bellhop.jobqueue where state = 'succeeded')")
	cluster.Kill()
	if err := cluster.Restart(t.Context(), "immediate"); err != nil {
		t.Fatal(err)
	}
	e.pool.Reset()
	e.ran("jobs", "dispatch")
	got := e.lines("done")
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != rows {
		t.Errorf("%d rows ran, want %d", n, rows)
	}
	if crowd, twice := e.lines("crowd"), e.lines("twice"); len(crowd)+len(twice) > 0 {
		t.Errorf("more than %d at once: %q; two of one key: %q", pool, crowd, twice)
	}
}

// What no trigger rang for is found, and what was rolled back or deleted is not run.
func TestAttach_RowsThatNobodyRangFor(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table jobs (id integer primary key, dispatch timestamptz)")
	e.sql("insert into jobs values (1, null), (2, now())")
	e.ok("attach", "jobs", "--pool", "4", "--shell", `echo $1 >> `+filepath.Join(e.dir, "done"))
	e.serve(obeys)
	ran := func(why string, want ...string) {
		t.Helper()
		pgtest.Eventually(t, patience, why, func() bool {
			got := e.lines("done")
			slices.Sort(got)
			return slices.Equal(got, want)
		})
	}
	ran("what was there before", "1")
	for _, statement := range []string{
		"begin; insert into jobs values (3); rollback",
		"insert into jobs values (4); delete from jobs where id = 4", // one transaction
		"begin; set local session_replication_role = replica; insert into jobs values (5); commit",
		"alter table jobs disable trigger user",
		"insert into jobs values (6)",
	} {
		e.sql(statement)
	}
	ran("what the scan finds", "1", "5", "6")
	e.sql("alter table jobs enable trigger user")
	e.sql("update jobs set id = 20, dispatch = null where id = 2")
	ran("a row whose key changed as it was asked for", "1", "20", "5", "6")
}

// A table by partitions: the parent's trigger rings, and what goes to a
// partition directly is found all the same.
func TestAttach_PartitionedTables(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql(
		`create table jobs (id integer, part integer, dispatch timestamptz, result text, primary key (part, id)) partition by list (part);
		create table jobs_1 partition of jobs for values in (1); create table jobs_2 partition of jobs for values in (2)`)
	e.ok("attach", "jobs", "--pool", "2", "--status-col", "result", "--shell",
		`echo "$1" >> `+filepath.Join(e.dir, "done"))
	e.sql("insert into jobs (id, part) values (1, 1), (1, 2), (2, 2)")
	e.sql("insert into jobs_1 (id, part) values (2, 1)")
	e.ran("jobs", "dispatch")
	got := e.lines("done")
	slices.Sort(got)
	if !slices.Equal(got, []string{"[1, 1]", "[1, 2]", "[2, 1]", "[2, 2]"}) {
		t.Errorf("%q", got)
	}
	if n := value[int](e, "select count(*) from jobs where result = 'succeeded'"); n != 4 {
		t.Errorf("%d outcomes, want 4", n)
	}
}

// Names may change. What is dropped breaks its own attachment and no other, and
// nobody's INSERT; what is mended goes on.
func TestAttach_RenamesAndDrops(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	sh := func(name string) []string {
		return []string{"--pool", "1", "--shell", `echo "$1" >> ` + filepath.Join(e.dir, name)}
	}
	e.sql("create table jobs (id integer primary key, dispatch date, outcome text); create table others (id integer primary key, dispatch date)")
	e.ok(append([]string{"attach", "jobs", "--status-col", "outcome"}, sh("jobs")...)...)
	e.ok(append([]string{"attach", "others"}, sh("others")...)...)
	e.sql(
		`alter table jobs rename to "The Jobs"; alter table "The Jobs" rename id to "the id"; alter table "The Jobs" rename dispatch to at;
		alter table "The Jobs" rename outcome to "how it went"; create schema elsewhere; alter table "The Jobs" set schema elsewhere`)
	e.sql(`insert into elsewhere."The Jobs" values (1)`)
	e.ran(`elsewhere."The Jobs"`, "at")
	if got := value[string](e, `select "how it went" from elsewhere."The Jobs"`); got != "succeeded" ||
		!slices.Equal(e.lines("jobs"), []string{"1"}) {
		t.Errorf("after the renames: %q, outcome %q", e.lines("jobs"), got)
	}

	e.sql(`alter table elsewhere."The Jobs" drop "how it went"`)
	e.sql(`insert into elsewhere."The Jobs" values (2)`)
	broken := func(want string) {
		t.Helper()
		pgtest.Eventually(t, patience, "it is broken: "+want,
			func() bool { return strings.Contains(e.ok("attachments"), want) })
		e.rowBecause("jobs", "2", "attachment_broken", want)
	}
	broken("its status column was dropped")
	e.sql(`alter table elsewhere."The Jobs" drop at`)
	e.sql(`insert into elsewhere."The Jobs" values (3)`) // nobody's INSERT suffers
	broken("its dispatch column was dropped")
	e.sql(`drop table elsewhere."The Jobs"`)
	broken("its table was dropped")
	e.sql("insert into others values (7)")
	e.ran("others", "dispatch")
	if !slices.Equal(e.lines("others"), []string{"7"}) {
		t.Errorf("the other attachment ran %q", e.lines("others"))
	}
	e.ok("detach", "jobs")
	if text := e.ok("attachments"); strings.Contains(text, "broken") {
		t.Errorf("still there:\n%s", text)
	}
}

// What a row's job can be told: a retry takes a place of the pool, and is refused
// where there is none; what is pruned runs again as a new job.
func TestAttach_RetryAndPrune(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(obeys)
	e.sql("create table jobs (id integer primary key, note text, dispatch timestamptz, outcome text)")
	e.ok("attach", "jobs", "--pool", "1", "--status-col", "outcome", "--shell",
		`echo "$1 $BELLHOP_ROW" >> `+filepath.Join(e.dir, "done"))
	e.sql("insert into jobs values (1, 'a note')")
	e.ran("jobs", "dispatch")
	e.ok("attach", "jobs", "--pool", "0")
	if r := e.run("retry", "jobs/1"); r.code == 0 || !strings.Contains(r.stderr, "Set its dispatch column to NULL") {
		t.Errorf("retry with a pool of 0: %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	e.ok("attach", "jobs", "--pool", "1")
	e.ok("retry", "jobs/1")
	pgtest.Eventually(t, patience, "it ran again", func() bool { return len(e.lines("done")) == 2 })
	e.ran("jobs", "dispatch")
	e.ok("prune", "--older-than", "0s")
	if n := value[int](e, "select (select count(*) from bellhop.jobqueue) + (select count(*) from bellhop.attached)"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	e.sql("update jobs set dispatch = null")
	e.ran("jobs", "dispatch")
	for _, line := range e.lines("done") {
		has(t, line, `"note": "a note"`)
	}
	if len(e.lines("done")) != 3 || e.state(value[int64](e, "select id from bellhop.jobqueue where key = 'jobs/1'")) != "succeeded" {
		t.Errorf("%q", e.lines("done"))
	}
}

// Detaching gives back what was taken and has not started, and leaves nothing
// on the table.
func TestAttach_DetachGivesBack(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table jobs (id integer primary key, dispatch timestamptz)")
	e.ok("attach", "jobs", "--type", "nobody", "--pool", "5", "--index")
	i := e.serve("")
	e.sql("insert into jobs select generate_series(1, 3)")
	e.eventually("they are taken", "select count(*) = 3 from bellhop.jobqueue where state = 'ready'")
	has(t, e.ok("explain", "jobs/2"), "unknown_type")
	has(t, e.ok("detach", "jobs"), "rows given back: 3")
	if n := value[int](e, "select count(*) from jobs where dispatch is null"); n != 3 {
		t.Errorf("%d rows ask to be run, want 3", n)
	}
	if n := value[int](e, `select (select count(*) from pg_trigger where not tgisinternal and tgrelid = 'jobs'::regclass)
		+ (select count(*) from pg_indexes where tablename = 'jobs') + (select count(*) from pg_proc where pronamespace = 'bellhop_attached'::regnamespace)`); n != 1 {
		t.Errorf("%d triggers, indexes and functions are left, want the primary key alone", n)
	}
	// and again, in another way
	e.ok("attach", "jobs", "--shell", `echo "$1" >> `+filepath.Join(e.dir, "done"), "--pool", "1")
	i.stop()
	e.serve(obeys)
	e.ran("jobs", "dispatch")
	if got := e.lines("done"); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("then it ran %q", got)
	}
}
