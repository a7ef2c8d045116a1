package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
)

// aged submits a job with the lock db:a that has waited for so long that it is reserved for, while
// somebody has the lock, and lets that one end.
func (e *env) aged(columns, values string) scheduler.JobID {
	e.Helper()
	e.locked("db:a=exclusive")
	holder := e.passed(1)
	old := e.insert("locks, created_at, "+columns, "'{db:a=exclusive}', now() - interval '1 h', "+values)
	e.scan()
	if n := e.one("select count(*) from bellhop.lock_reserved where job = $1", int64(old)); n != "1" {
		e.Fatalf("it is not reserved for job %d", old)
	}
	e.ends(holder...)
	return old
}

// scan is the safety scan's round.
func (e *env) scan() {
	e.Helper()
	if _, err := e.maintenance.RunCommands(e.Context(), e.me); err != nil {
		e.Fatal(err)
	}
}

// Whoever is reserved for starts where any other job like it would, and nowhere else.
func TestLocks_WhoIsReservedForStartsOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	type change func(*scheduler.Demand)
	for name, c := range map[string]struct {
		columns, values string
		not, may        change
	}{
		"run_on": {"type, run_on", "'cat', 'big1'", nil, func(d *scheduler.Demand) { d.Localities = []string{"big1"} }},
		"placed": {"type", "'cat'", func(d *scheduler.Demand) { d.Types[0].Placed = true }, nil},
		"msq":    {"type, msq", "'cat', 'select 1'", func(d *scheduler.Demand) { d.MSQ = false }, nil},
		"only priorities": {"type", "'cat'", func(d *scheduler.Demand) { d.Only = &scheduler.Only{Priorities: []int{3}} }, func(d *scheduler.Demand) {
			d.Only = &scheduler.Only{Priorities: []int{0}}
		}},
		"only names": {"type, priority_name", "'cat', 'lazy'", func(d *scheduler.Demand) { d.Only = &scheduler.Only{Names: "^urg"} }, nil},
		"worst":      {"type", "'cat'", func(d *scheduler.Demand) { d.Types[0].MaxPriority = -1 }, nil},
		"type":       {"type", "'cat'", func(d *scheduler.Demand) { d.Types[0].Type = "dog" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.exec("insert into bellhop.host (instance, name, slots) values ($1, 'big1', 1)", int64(e.me))
			old := e.aged(c.columns, c.values)
			young := e.locked("db:a=exclusive")
			claim := func(c change) []scheduler.JobID {
				d := demand(5)
				d.Locked = true
				if c != nil {
					c(&d)
				}
				return ids(e.claim(d))
			}
			if got := claim(c.not); len(got) > 0 {
				t.Fatalf("%v start where %v may not", got, old)
			}
			if got := claim(c.may); !slices.Equal(got, []scheduler.JobID{old}) {
				t.Errorf("%v start where %v may, and %v waits for it", got, old, young)
			}
		})
	}
}

func TestLocks_APausedTypeIsNotStartedByItsReservation(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	old := e.aged("type", "'cat'")
	e.exec("update bellhop.instance set paused = '{cat}' where id = $1", int64(e.me))
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("%v start, and are paused", got)
	}
	e.exec("update bellhop.instance set paused = '{}' where id = $1", int64(e.me))
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{old}) {
		t.Errorf("%v start, want %v", got, old)
	}
}

// What no host would take keeps nobody from what it wants.
func TestLocks_NothingIsKeptForWhatNoHostTakes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.host (instance, name, slots, only_priorities) values ($1, 'big1', 1, '{-5}')", int64(e.me))
	e.locked("db:a=exclusive")
	holder := e.passed(1)
	for _, place := range []string{"nowhere", "big1"} {
		e.insert("type, locks, created_at, run_on", "'cat', '{db:a=exclusive}', now() - interval '1 h', '"+place+"'")
	}
	e.scan()
	if n := e.one("select count(*) from bellhop.lock_reserved"); n != "0" {
		t.Errorf("reserved for %s", n)
	}
	e.ends(holder...)
	young := e.locked("db:a=exclusive")
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{young}) {
		t.Errorf("%v start, want %v", got, young)
	}
}

// A job of RJM's takes the room of RJM's workers, also when it is reserved for and another has its turn.
func TestLocks_AJobOfRJMsIsReservedForAndStarts(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("update bellhop.agent set type = 'rjm' where instance = $1 and type = 'cat'", int64(e.me))
	d := demand(5)
	d.Locked, d.Types[0].Type = true, "rjm"
	e.setUp("n", "bill.1", "bill.2", "bill.3")
	e.exec("update bellhop.jobqueue set locks = '{db:a=exclusive}'")
	first := e.claim(d)
	if text := e.keys(first); text != "bill.1 as rjm, " {
		t.Fatalf("%q start first", text)
	}
	e.exec("update bellhop.jobqueue set created_at = now() - interval '20 h', priority = 5 where key = 'bill.2'")
	e.claim(d)
	e.scan()
	e.exec("delete from bellhop.lock_reserved where job <> (select id from bellhop.jobqueue where key = 'bill.2')")
	e.ends(first...)
	if text := e.keys(e.claim(d)); text != "bill.2 as rjm, " {
		t.Errorf("%q start, want bill.2, in the room of rjm", text)
	}
}

// What was kept for a job that a filter pauses goes to others, and it is reserved for again when the rule is gone.
func TestLocks_NothingIsKeptForWhomAFilterPauses(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.locked("db:b=exclusive")
	b := e.passed(1)
	e.locked("db:a=exclusive")
	a := e.passed(1)
	old := e.insert("type, locks, created_at, key", "'cat', '{db:a=exclusive,db:b=exclusive}', now() - interval '1 h', 'old'")
	e.pass(5)
	e.scan()
	e.ends(a...)
	young := e.locked("db:a=exclusive")
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("%v start before the old one, which waits for b", got)
	}
	rule := e.filter("PAUSE", `[["opcode",["=","key","old"]]]`)
	got := e.passed(5)
	if !slices.Equal(ids(got), []scheduler.JobID{young}) {
		t.Fatalf("%v start, want %v: a is kept for one that is paused", ids(got), young)
	}
	e.want(old, "behind", "paused:"+rule)
	e.scan()
	if n := e.one("select count(*) from bellhop.lock_reserved"); n != "0" {
		t.Errorf("reserved for %s that are paused", n)
	}
	e.ends(append(got, b...)...)
	e.exec("select bellhop.filter_delete($1)", rule)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{old}) {
		t.Errorf("%v start, want %v", got, old)
	}
}

// The scan looks at a thousand locks at once, and at all of them in turn: no name comes too late in the alphabet.
func TestLocks_WhoWaitsBehindTheLastOfManyLocksIsReservedFor(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, locks, behind)
		select 'cat', array['db:' || n || '=exclusive'], 'db:' || n from generate_series(10000, 12100) n`)
	old := e.insert("type, locks, behind, created_at", "'cat', '{db:z=exclusive}', 'db:z', now() - interval '1 h'")
	reserved := func() string {
		return e.one("select count(job) || ' ' || beyond from bellhop.lock_scan left join bellhop.lock_reserved on job = $1 group by beyond", int64(old))
	}
	var seen []string
	for range 4 {
		e.scan()
		seen = append(seen, reserved())
	}
	want := []string{"0 db:10999", "0 db:11999", "1 db:10897", "1 db:11897"}
	if !slices.Equal(seen, want) {
		t.Errorf("scans come to %q, want %q", seen, want)
	}
	e.exec("delete from bellhop.jobqueue where id <> $1", int64(old))
	for range 2 {
		e.scan()
	}
	if now := reserved(); now != "1 " {
		t.Errorf("with one lock it comes to %q", now)
	}
}

// A pass tells when the first of the jobs that it has looked at ages; a look then reserves for it, and tells of the
// next one: the first of each type and priority behind a lock.
func TestLocks_WhenTheNextJobAgesIsTold(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	near := func(what string, at time.Time, want time.Duration) {
		t.Helper()
		if left := time.Until(at); at.IsZero() || left > want || left < want-5*time.Minute { // a slow machine comes later
			t.Errorf("%s: in %v, want %v", what, left, want)
		}
	}
	never := func(what string, at time.Time) {
		t.Helper()
		if !at.IsZero() {
			t.Errorf("%s: in %v", what, time.Until(at))
		}
	}
	look := func(want int) time.Time {
		t.Helper()
		n, next, err := e.maintenance.Reserve(t.Context())
		if err != nil || n != want {
			t.Fatalf("reserved for %d jobs, want %d (%v)", n, want, err)
		}
		return next
	}
	waits := func(minutes int, locks string) scheduler.JobID {
		return e.insert("type, locks, created_at", fmt.Sprintf("'cat', '{%s}', now() - interval '%d min'", locks, minutes))
	}
	const horizon = 15 * time.Minute
	state, err := e.maintenance.RunCommands(t.Context(), e.me)
	if err != nil || state.Locks {
		t.Fatalf("%+v, %v", state, err)
	}
	never("no job has locks", state.Reserves)
	never("no job has locks", look(0))
	e.locked("db:a=exclusive")
	holder := e.passed(1)
	never("it has started", e.claimer.later.ages)
	never("it has started", look(0))
	waits(1, "db:a=shared")
	first := waits(2, "db:a=exclusive")
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("%v start", got)
	}
	near("two wait", e.claimer.later.ages, horizon-2*time.Minute)
	near("the first in line", look(0), horizon-time.Minute)
	if state, err = e.maintenance.RunCommands(t.Context(), e.me); err != nil || !state.Locks {
		t.Fatalf("%+v, %v", state, err)
	}
	near("a round tells the same", state.Reserves, horizon-time.Minute)
	e.exec("update bellhop.jobqueue set held = true where id <> $1 and state = 'ready'", int64(first))
	near("the other in line", look(0), horizon-2*time.Minute)
	e.exec("update bellhop.jobqueue set created_at = created_at - interval '13 min' where id = $1", int64(first))
	never("it has aged", look(1))
	never("it is reserved for already", look(0))
	if n := e.one("select count(*) from bellhop.lock_reserved where job = $1", int64(first)); n != "1" {
		t.Errorf("reserved for %s", n)
	}
	e.pass(5)
	never("all that wait are reserved for", e.claimer.later.ages)
	old := waits(20, "db:a=shared")
	e.pass(5)
	near("an aged one has come", e.claimer.later.ages, 0)
	e.ends(holder...)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{first}) {
		t.Fatalf("%v start, want %v before %v", got, first, old)
	}
	near("an aged one has started", e.claimer.later.ages, 0)
	e.exec("update bellhop.jobqueue set held = true where state = 'ready'")
	never("all that wait are held", look(0))
}
