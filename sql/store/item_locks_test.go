package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// query submits an MSQ job and claims it.
func (e *env) query(locks ...string) scheduler.Job {
	e.Helper()
	d := demand(1)
	if len(locks) == 0 {
		e.insert("type, msq", "'cat', 'select 1'")
	} else {
		d.Locked = true
		e.exec("insert into bellhop.jobqueue (type, msq, locks) values ('cat', 'select 1', $1)", locks)
	}
	jobs := e.claim(d)
	if len(jobs) != 1 {
		e.Fatalf("%d jobs claimed, want one", len(jobs))
	}
	return jobs[0]
}

// items is what the items of a job ask for: sets of locks by blanks, + between locks.
func (e *env) items(desk *AskedLocks, j scheduler.Job, own lock.Set, keep, want string) (lock.ItemsAnswer, error) {
	ask := lock.ItemsAsk{Job: lock.ID(j.Claim.Job), Own: own, Keep: must(desk.ReadLocks(strings.Fields(keep))), Most: 100}
	for _, one := range strings.Fields(want) {
		ask.Want = append(ask.Want, must(desk.ReadLocks(strings.Split(one, "+"))))
	}
	return desk.AskForItems(e.Context(), e.me, j.Claim, ask)
}

func (e *env) mustItems(desk *AskedLocks, j scheduler.Job, keep, want string) lock.ItemsAnswer {
	e.Helper()
	a, err := e.items(desk, j, lock.Set{}, keep, want)
	if err != nil {
		e.Fatal(err)
	}
	return a
}

func (e *env) holds(want string) {
	e.Helper()
	got := e.one(`select string_agg(format('%s %s:%s=%s', job, level, name, mode), ', ' order by job, level, name)
		from (select job, level, name, mode from bellhop.lock union all
		      select job, 'waits', level || ':' || name, mode from bellhop.lock_waiting) l`)
	if got != want {
		e.Errorf("held: %s; want %s", got, want)
	}
}

func TestItemLocks_HeldWhileAnItemNeedsThem(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	asked := desk(e, NewAskedLocks)
	j := e.query()
	id := j.Claim.Job
	if a := e.mustItems(asked, j, "", "db:a=exclusive db:b=shared"); !slices.Equal(a.Got, []bool{true, true}) {
		t.Fatalf("%+v", a)
	}
	e.holds(fmt.Sprintf("%d db:a=exclusive, %d db:b=shared", id, id))
	plain := e.locked("db:a=shared")
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("beside it started %v", got)
	}
	e.want(plain, "behind", "db:a")
	a := e.mustItems(asked, j, "db:a=exclusive", "")
	if len(a.Before) != 1 || a.Before[0].Text()[0] != "db:a=shared" {
		t.Errorf("who waits: %+v", a.Before)
	}
	e.holds(fmt.Sprintf("%d db:a=exclusive", id))
	e.mustItems(asked, j, "", "")
	if n := e.one("select count(*) from bellhop.lock_grant where job = " + fmt.Sprint(id)); n != "0" {
		t.Errorf("%s grants are left", n)
	}
	if got := e.pass(5); !slices.Equal(got, []scheduler.JobID{plain}) {
		t.Errorf("then started %v", got)
	}
}

// What other jobs hold is not to be had; what an item waits for is kept from jobs
// that are ready, and goes to them when it waits no more.
func TestItemLocks_BesideOtherJobs(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	asked := desk(e, NewAskedLocks)
	first := e.locked("db:a=exclusive")
	holder := e.passed(5)
	j := e.query()
	a := e.mustItems(asked, j, "", "db:a=shared+db:b=shared db:c=shared")
	want := fmt.Sprintf("db:a=shared, and job %d has db:a=exclusive", first)
	if a.Why != want || !slices.Equal(a.Got, []bool{false, true}) {
		t.Fatalf("%+v", a)
	}
	id := j.Claim.Job
	e.holds(fmt.Sprintf("%d db:a=exclusive, %d db:c=shared, %d waits:db:a=shared, %d waits:db:b=shared", first, id, id, id))
	waiting := e.locked("db:a=exclusive")
	other := e.locked("db:b=exclusive")
	e.ends(holder...)
	if got := e.pass(5); len(got) > 0 {
		t.Fatalf("what an item waits for went to %v", got)
	}
	e.mustItems(asked, j, "", "") // it gets no slot
	e.holds("")
	got := append(e.pass(5), e.pass(5)...)
	slices.Sort(got)
	if !slices.Equal(got, []scheduler.JobID{waiting, other}) {
		t.Errorf("then started %v", got)
	}
	if a := e.mustItems(asked, j, "", "db:a=shared"); a.Got[0] {
		t.Error("granted beside an exclusive one")
	}
}

// What the job was claimed with is found out once, and stays.
func TestItemLocks_OfTheJobItself(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	asked := desk(e, NewAskedLocks)
	j := e.query("db:a=shared", "db:b=exclusive")
	own, err := asked.OwnLocks(t.Context(), e.me, j.Claim)
	if err != nil || strings.Join(own.Text(), " ") != "db:a=shared db:b=exclusive" {
		t.Fatalf("%v, %v", own.Text(), err)
	}
	for _, step := range [][2]string{
		{"db:a=exclusive+db:b=exclusive", "%[1]d db:a=exclusive, %[1]d db:b=exclusive"},
		{"", "%[1]d db:a=shared, %[1]d db:b=exclusive"},
	} {
		if _, err := e.items(asked, j, own, "", step[0]); err != nil {
			t.Fatal(err)
		}
		e.holds(fmt.Sprintf(step[1], j.Claim.Job))
	}
}

// A job that is over, or was claimed anew, is given nothing.
func TestItemLocks_OnlyUnderTheFence(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	asked := desk(e, NewAskedLocks)
	j := e.query()
	e.mustItems(asked, j, "", "db:a=exclusive")
	e.exec("update bellhop.jobqueue set state = 'ready' where id = $1", int64(j.Claim.Job))
	e.holds("")
	if again := e.claim(demand(1)); len(again) != 1 {
		t.Fatal("not claimed again")
	}
	e.holds("")
	_, err := e.items(asked, j, lock.Set{}, "", "db:b=exclusive")
	if err == nil || !strings.Contains(err.Error(), "is not run by this instance any more") {
		t.Errorf("error is %v", err)
	}
	e.holds("")
}

// Two queries and jobs with locks on the same names, for a while, with connections
// that break: never do two hold what conflicts, and nothing is left.
func TestItemLocks_NeverTogether(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		j, asked := e.query(), desk(e, NewAskedLocks)
		all.Go(func() { e.playsItems(asked, j) })
	}
	all.Go(func() {
		for range 60 {
			e.killsLocks()
			time.Sleep(time.Millisecond)
		}
	})
	go func() { all.Wait(); close(done) }()
	seen := 0
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
			mode := []string{"shared", "exclusive"}[seen%2]
			if most := e.one("select count(*) from bellhop.jobqueue where state = 'ready'"); most < "3" {
				e.locked(fmt.Sprintf("db:%d=%s", seen%3, mode))
			}
			jobs := e.passed(1)
			seen += e.looksForConflicts()
			e.ends(jobs...)
		}
	}
	if seen == 0 {
		t.Error("nothing was ever held")
	}
}

// playsItems lets items of a job begin and end in any order.
func (e *env) playsItems(asked *AskedLocks, j scheduler.Job) {
	var runs []string
	for range 150 {
		if len(runs) > 0 && rand.IntN(2) == 0 {
			runs = runs[1:]
		}
		want := fmt.Sprintf("db:%d=%s", rand.IntN(3), []string{"shared", "exclusive"}[rand.IntN(2)])
		if slices.ContainsFunc(runs, func(r string) bool { return r[:4] == want[:4] }) {
			want = ""
		}
		a, err := e.items(asked, j, lock.Set{}, strings.Join(runs, " "), want)
		if err == nil && want != "" && a.Got[0] {
			runs = append(runs, want)
		}
	}
	var err error
	// On a slow machine connections are still being killed.
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		if _, err = e.items(asked, j, lock.Set{}, "", ""); err == nil {
			return
		}
	}
	e.Errorf("what is held cannot be given back: %v", err)
}

// killsLocks ends the connections of those who ask. On a connection of its own.
func (e *env) killsLocks() {
	conn, err := pgx.Connect(context.Background(), e.url)
	if err != nil {
		e.Error(err)
		return
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name = 'bellhop locks' order by random() limit 1`); err != nil {
		e.Error(err)
	}
}

// What is read does not grow with those that wait.
func TestItemLocks_PlanOfWhoWaits(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("analyze bellhop.jobqueue")
	j := e.query()
	e.exec(`insert into bellhop.jobqueue (type, locks, behind) select 'cat', '{db:a=exclusive}', 'db:a' from generate_series(1, 50000)`)
	e.exec(`insert into bellhop.jobqueue (type, locks) select 'cat', '{db:c=exclusive}' from generate_series(1, 50000)`)
	asked := desk(e, NewAskedLocks)
	e.mustItems(asked, j, "", "db:a=exclusive db:b=exclusive")
	conn, err := asked.conn.way.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statistics := range []string{"of an empty table", "fresh"} {
		plan, pages := planned(t, conn, locksBehindSQL, fmt.Sprint(j.Claim.Job), fmt.Sprint(j.Claim.Fence))
		if pages > 50 || !strings.Contains(plan, "jobqueue_locked") {
			t.Errorf("with statistics %s it reads %d pages:\n%s", statistics, pages, plan)
		}
		if plan, pages := planned(t, conn, locksWaitedSQL); pages > 10 || !strings.Contains(plan, "jobqueue_locked") {
			t.Errorf("with statistics %s it reads %d pages:\n%s", statistics, pages, plan)
		}
		e.exec("analyze bellhop.jobqueue")
	}
}
