package e2e

import (
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// When all rows have run, only the safety scan takes turns: no turn brings about the next one. A new row is still taken
// at once, for the bell rings.
func TestAttach_ATableAtRestIsLeftAlone(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql(`do $$ begin execute format('alter database %I set track_functions = ''all''', current_database()); end $$`)
	e.serve(obeys)
	e.sql(`create table jobs (id integer primary key, dispatch timestamptz, outcome text, asked timestamptz default clock_timestamp())`)
	e.ok("attach", "jobs", "--cmd", "true", "--pool", "2", "--status-col", "outcome")
	e.sql("insert into jobs select generate_series(1, 40)")
	e.ran("jobs", "dispatch")
	// From then on this instance looks when something rings, and not by itself.
	e.eventually("the instance sleeps at the gate", `select exists (select from pg_locks l
		where l.locktype = 'advisory' and l.mode = 'ExclusiveLock' and l.granted and l.database = (select oid from pg_database where datname = current_database())
		  and l.classid::bigint << 32 | l.objid::bigint = 7090192401229115393)`)
	turns := func() int {
		t.Helper()
		return value[int](e, `select coalesce(sum(calls), 0)::integer from pg_stat_user_functions where schemaname = 'bellhop' and funcname = 'turn_open'`)
	}
	// taken waits for so many turns, and gives their number and the time.
	taken := func(n int) (int, time.Time) {
		t.Helper()
		var now int
		pgtest.Eventually(t, patience, "the safety scan takes turns", func() bool {
			now = turns()
			return now >= n
		})
		return now, time.Now()
	}
	first, began := taken(turns() + 1)
	last, ended := taken(first + 4)
	// Four scans are 20 s apart, less what the first was late. Turns that follow one from the other take 64 ms each.
	if took := ended.Sub(began); took < 8*time.Second {
		t.Errorf("%d turns at rest in %v: they bring about each other", last-first, took)
	}
	for row := 41; ; row++ { // asked for as a scan is over, so that the next one is 5 s away
		taken(turns() + 1)
		e.sql("insert into jobs (id) values ($1)", row)
		e.ran("jobs", "dispatch")
		if value[bool](e, "select dispatch < asked + interval '2.5 s' from jobs where id = $1", row) {
			break
		}
		if row == 60 {
			t.Fatal("twenty new rows waited for the safety scan: the bell does not ring")
		}
	}
}
