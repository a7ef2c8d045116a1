package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// pass makes a pass for so many jobs of type cat, and gives those that it took.
func (e *env) pass(most int) []scheduler.JobID {
	e.Helper()
	return ids(e.passed(most))
}

func (e *env) passed(most int) []scheduler.Job {
	e.Helper()
	d := demand(most)
	d.Locked = true
	if most == 0 {
		d.Types = nil
	}
	return e.claim(d)
}

// locked submits a job with locks.
func (e *env) locked(locks ...string) scheduler.JobID {
	e.Helper()
	var id int64
	if err := e.conn.QueryRow(e.Context(), "insert into bellhop.jobqueue (type, locks) values ('cat', $1) returning id", locks).Scan(&id); err != nil {
		e.Fatal(err)
	}
	return scheduler.JobID(id)
}

func (e *env) ends(jobs ...scheduler.Job) {
	e.Helper()
	for _, j := range jobs {
		e.mustWrite(succeeded(j))
	}
}

func TestLocks_AJobWithLocksIsNotMetByOrdinaryClaims(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.locked("db:a=exclusive")
	plain := e.insert("type", "'cat'")
	if got := ids(e.claim(demand(5))); !slices.Equal(got, []scheduler.JobID{plain}) {
		t.Errorf("an ordinary claim took %v, want %v", got, plain)
	}
}

func TestLocks_WhoIsInNobodysWayStartsAndTheOthersSayBehindWhat(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	first := e.locked("db:a=exclusive")
	second := e.locked("db:a=exclusive")
	other := e.locked("db:b=exclusive")
	got := e.passed(5)
	if !slices.Equal(ids(got), []scheduler.JobID{first, other}) {
		t.Fatalf("a pass took %v, want %v and %v", ids(got), first, other)
	}
	e.want(second, "behind", "db:a")
	e.want(second, "split_part(waiting_for, ':', 1)", "lock_held")
	if held := e.one("select string_agg(format('%s:%s=%s %s %s', level, name, mode, job, instance), ', ' order by job) from bellhop.lock"); held != fmt.Sprintf(
		"db:a=exclusive %d %d, db:b=exclusive %d %d",
		first,
		e.me,
		other,
		e.me,
	) {
		t.Errorf("held: %s", held)
	}
	if code := e.one("select string_agg(code, ' ') from bellhop.explanation($1)", int64(second)); !strings.HasPrefix(
		code,
		"lock_held",
	) {
		t.Errorf("explained by %s", code)
	}
	if again := e.pass(5); len(again) > 0 {
		t.Errorf("another pass took %v", again)
	}
	e.ends(got[0])
	if next := e.pass(5); !slices.Equal(next, []scheduler.JobID{second}) {
		t.Errorf("after the end a pass took %v, want %v", next, second)
	}
}

// A pass that can take nothing only hands on what is free. Where nobody waits it leaves even the clearing up to
// the next one that takes something: while all children are busy there would be one for each batch of outcomes.
func TestLocks_APassForNobodyCostsNothing(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	grants := func() string { return e.one("select count(*) from bellhop.lock_grant") }
	e.locked("db:a=exclusive")
	first := e.passed(5)
	e.ends(first...)
	e.pass(0)
	if held := e.one("select count(*) from bellhop.lock"); grants() != "1" || held != "0" {
		t.Errorf("nobody waits: %s rows of locks, %s are held", grants(), held)
	}
	e.locked("db:a=exclusive")
	second := e.passed(5)
	behind := e.locked("db:a=exclusive")
	e.pass(5)
	e.ends(second...)
	e.pass(0)
	e.want(behind, "behind", "") // its turn has come, here or at another instance
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{behind}) {
		t.Errorf("then a pass took %v, want %d", got, behind)
	}
}

func TestLocks_SharersGoTogetherAndAnExclusiveOneAlone(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	writer := e.locked("db:a=exclusive")
	begun := e.passed(5)
	r1, r2 := e.locked("db:a=shared"), e.locked("db:a=shared")
	last := e.locked("db:a=exclusive")
	if got := e.pass(5); len(begun) != 1 || len(got) > 0 {
		t.Fatalf("%v, then %v beside %v", ids(begun), got, writer)
	}
	e.ends(begun...)
	readers := e.passed(5)
	if !slices.Equal(ids(readers), []scheduler.JobID{r1, r2}) {
		t.Fatalf("after the writer: %v, want %v and %v", ids(readers), r1, r2)
	}
	e.ends(readers[0])
	if got := e.pass(5); len(got) > 0 {
		t.Errorf("beside a reader: %v", got)
	}
	e.ends(readers[1])
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{last}) {
		t.Errorf("after the readers: %v, want %v", got, last)
	}
}

func TestLocks_BigRunsAloneAmongJobsWithLocks(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	one := e.locked("db:a=shared")
	running := e.passed(5)
	big := e.locked("big")
	if got := e.pass(5); len(running) != 1 || len(got) > 0 {
		t.Fatalf("big started beside %v: %v", one, got)
	}
	plain := e.insert("type", "'cat'")
	if got := ids(e.claim(demand(1))); !slices.Equal(got, []scheduler.JobID{plain}) {
		t.Errorf("one without locks: %v", got)
	}
	e.ends(running...)
	alone := e.passed(5)
	after := e.locked("db:z=shared")
	if !slices.Equal(ids(alone), []scheduler.JobID{big}) || len(e.pass(5)) > 0 {
		t.Errorf("big is %v, beside it %v", ids(alone), after)
	}
	e.ends(alone...)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{after}) {
		t.Errorf("after big: %v", got)
	}
}

func TestLocks_ALimitOfReasonsIsKept(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	var jobs []scheduler.JobID
	for range 5 {
		jobs = append(jobs, e.insert("type, reasons", "'cat', '{nightly,rate-limit:2:mail}'"))
	}
	got := e.passed(9)
	if !slices.Equal(ids(got), jobs[:2]) {
		t.Fatalf("%v run, want two of %v", ids(got), jobs)
	}
	e.want(jobs[4], "behind", "rate-limit:2:mail")
	e.ends(got[0])
	if next := e.pass(9); !slices.Equal(next, jobs[2:3]) {
		t.Errorf("after one has ended: %v, want %v", next, jobs[2])
	}
}

func TestLocks_AgentsSayThemByTemplates(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	templates, err := lock.ParseTemplates([]string{"customer:${vars.CUSTOMER}=exclusive"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.claimer.Templates = lock.Templates{"cat": templates}
	a := e.insert("type, vars", `'cat', '{"CUSTOMER": "4:2=x"}'`)
	b := e.insert("type, vars", `'cat', '{"CUSTOMER": "4:2=x"}'`)
	c := e.insert("type", "'cat'") // which customer is not known: it forbids nothing
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{a, c}) {
		t.Errorf("%v start, want %v and %v", got, a, c)
	}
	e.want(b, "behind", "customer:4:2=x")
}

func TestLocks_WhatIsChangedByHandHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"deleted":               "delete from bellhop.jobqueue where id = $1",
		"ended by hand":         "update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = $1",
		"claimed anew":          "update bellhop.jobqueue set fence = fence + 1 where id = $1",
		"its grants are gone":   "delete from bellhop.lock_grant where job = $1",
		"given back, and held":  "update bellhop.jobqueue set state = 'held', held = true, instance = null where id = $1",
		"its instance was lost": "update bellhop.jobqueue set state = 'scheduled', run_at = 'infinity', instance = null where id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			holder, waiter := e.locked("db:a=exclusive"), e.locked("db:a=exclusive")
			if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{holder}) {
				t.Fatalf("%v", got)
			}
			e.exec(change, int64(holder))
			if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil { // the safety scan's round
				t.Fatal(err)
			}
			if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{waiter}) {
				t.Errorf("%v start, want %v", got, waiter)
			}
		})
	}
}

func TestLocks_AWaitingJobThatGoesKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.locked("db:a=exclusive")
	holder := e.passed(5)
	next, last := e.locked("db:a=exclusive", "db:b=exclusive"), e.locked("db:a=exclusive")
	e.locked("db:b=exclusive")
	other := e.passed(5)
	if len(other) != 1 {
		t.Fatalf("%v", ids(other))
	}
	e.ends(holder...)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{last}) { // next waits for b now, and must not keep a
		e.want(next, "behind", "db:b")
		t.Fatalf("%v start, want %v", got, last)
	}
	e.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = $1", int64(next))
	e.ends(other...)
	if n := e.one("select count(*) from bellhop.lock_grant where level = 'db' and name = 'b'"); n != "1" {
		t.Errorf("%s rows of b", n)
	}
	e.pass(1)
	if n := e.one("select count(*) from bellhop.lock_grant where level = 'db' and name = 'b'"); n != "0" {
		t.Errorf("%s rows of b after a pass", n)
	}
}

func TestLocks_UnreadableOnesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.claimer.Policy.Levels = lock.Levels{"db"}
	id := e.locked("disk:a=exclusive")
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("%v started", got)
	}
	if why := e.column(id, "waiting_for"); !strings.Contains(why, "locks_malformed: ") ||
		!strings.Contains(why, `no level "disk"`) {
		t.Errorf("waits for %q", why)
	}
}

func TestLocks_AnOldJobIsReservedFor(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.locked("db:a=exclusive")
	a := e.passed(5)
	e.locked("db:b=exclusive")
	b := e.passed(5)
	old := e.locked("db:a=exclusive", "db:b=exclusive")
	e.exec("update bellhop.jobqueue set created_at = now() - interval '1 hour' where id = $1", int64(old))
	e.pass(5)
	if _, err := e.maintenance.RunCommands(t.Context(), e.me); err != nil {
		t.Fatal(err)
	}
	e.ends(a...)
	young := e.locked("db:a=exclusive")
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("%v started before the old one, which waits for b", got)
	}
	if why := e.column(young, "waiting_for"); !strings.HasPrefix(why, "lock_reserved: ") {
		t.Errorf("the young one waits for %q", why)
	}
	e.ends(b...)
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{old}) {
		t.Errorf("%v start, want %v", got, old)
	}
}

// Two answers to the same question: the policy's, and that of explain.
func TestLocks_SQLAndPolicyAgreeOnWhatClashes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	var texts []string
	for _, level := range []string{"db", "disk"} {
		for _, name := range []string{"*", "?", "a", "b:c=d"} {
			texts = append(texts, level+":"+name+"=shared", level+":"+name+"=exclusive")
		}
	}
	texts = append(texts, "big")
	for _, wanted := range texts {
		for _, held := range texts {
			w, h := must(lock.Parse(wanted)), must(lock.Parse(held))
			want, _ := lock.Conflicts(lock.NewSet(w), lock.NewSet(h))
			level, mode := h.Level, h.Mode.String()
			if h.Big {
				level, mode = lock.Big, "exclusive"
			}
			if got := e.one("select bellhop.locks_clash($1, $2, $3, $4)", wanted, level, h.NameText(), mode); got != fmt.Sprint(
				want,
			) {
				t.Errorf("%s wanted, %s held: SQL says %s, the policy %v", wanted, held, got, want)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
