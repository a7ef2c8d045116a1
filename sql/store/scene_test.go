package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/lock"
)

// A forecast sees who holds what, the first who wait behind each lock, and the job
// that is asked about; and it reads no more of a million than of ten thousand.
func TestScene_SeesTheFirstBehindEachLock(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	waiting := func(lock string, n int) scheduler.JobID {
		e.exec(`insert into bellhop.jobqueue (type, locks, behind) select 'cat', array[$1 || '=exclusive'], $1 from generate_series(1, $2::int)`, lock, n)
		last, _ := strconv.ParseInt(e.one("select max(id) from bellhop.jobqueue"), 10, 64)
		return scheduler.JobID(last)
	}
	last := waiting("customer:1", 3000)
	for _, name := range []string{"customer:2", "customer:3", "rate-limit:1:x"} {
		waiting(name, 10)
	}
	holder := e.insert("type, locks, state, fence, instance, started_at, attempt_at, attempt",
		"'cat', '{customer:1=exclusive,customer:2=shared}', 'running', 1, 1, clock_timestamp() - interval '1 minute', clock_timestamp(), 1")
	e.exec(`insert into bellhop.lock_grant (level, name, job, fence, mode) values ('customer', '1', $1, 1, 'exclusive'), ('customer', '2', $1, 1, 'shared'),
		('big', 'big', $1, 1, 'exclusive'), ('rate-limit', '1:x', $1, 1, 'slot')`, int64(holder))
	look := NewLook(e.conn)
	scene, err := look.Scene(t.Context(), 500, last)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, j := range scene.Jobs {
		switch {
		case j.Holds:
			slices.Sort(j.Locks)
			got := strings.Join(j.Locks, " ")
			if got != "big customer:1=exclusive customer:2=shared" || j.Job != lock.ID(holder) {
				t.Errorf("job %d holds %s", j.Job, got)
			}
			if took := scene.Now.Sub(j.Started); took < 0 || took.Minutes() > 0.5 {
				t.Errorf("it runs for %s, and not since its first attempt", took)
			}
		case j.Job == lock.ID(last):
			if j.Place != 0 || j.Behind != "customer:1" {
				t.Errorf("the job that is asked about: %+v", j)
			}
		default:
			counts[j.Behind] = max(counts[j.Behind], j.Place)
		}
	}
	if counts["customer:1"] != 100 || counts["customer:3"] != 10 || counts["rate-limit:1:x"] != 10 {
		t.Errorf("places go up to %v", counts)
	}
	if w, known := scene.Weigh(lock.ID(last)); !known || w.SPV != 4 {
		t.Errorf("it weighs %+v", w)
	}
	conn, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, statistics := range []string{"of an empty table", "fresh"} {
		if plan, pages := planned(t, conn, "select * from bellhop.lock_scene(500, $1)", "1"); pages > 4000 {
			t.Errorf("with statistics %s it reads %d pages:\n%s", statistics, pages, plan)
		}
		e.exec("analyze bellhop.jobqueue")
	}
	e.exec("set role bellhop_reader")
	if scene, err := look.Scene(t.Context(), 500, last); err != nil || len(scene.Jobs) != 132 {
		t.Errorf("a reader sees %d, %v", len(scene.Jobs), err)
	}
	e.exec("set role bellhop_submitter")
	if scene, err := look.Scene(t.Context(), 500, last); err == nil {
		t.Errorf("a submitter sees %d", len(scene.Jobs))
	}
	e.exec("reset role")
}

// What the newest instance says is the policy; who says nothing is of the version before.
func TestPolicy_IsThatOfTheNewestInstance(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	look := NewLook(e.conn)
	want := func(order lock.Order) {
		t.Helper()
		if p, err := look.Policy(t.Context()); err != nil || p.Order != order {
			t.Errorf("%+v, %v", p, err)
		}
	}
	want(lock.Predictive)
	p := lock.AnyLevel
	p.Order = lock.FIFO
	text, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	policy := string(text)
	other := Instance{Name: "fifo", Machine: "m", Pid: 2, Lag: 1e9, Policy: &policy}
	if _, err := e.registry.Register(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	e.register("of before", 1e9)
	want(lock.FIFO)
	e.exec("update bellhop.instance set state = 'gone' where name = 'fifo'")
	want(lock.Predictive)
}
