package store

import (
	"fmt"
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// batch begins a batch whose job is of type cat.
func (e *env) batch(arguments string) (id scheduler.JobID) {
	e.Helper()
	if err := e.conn.QueryRow(e.Context(), "select bellhop.batch('cat', "+arguments+")").Scan(&id); err != nil {
		e.Fatal(err)
	}
	return id
}

func (e *env) joins(batch scheduler.JobID) (id scheduler.JobID) {
	e.Helper()
	text := "select bellhop.submit('cat', batch => $1)"
	if err := e.conn.QueryRow(e.Context(), text, int64(batch)).Scan(&id); err != nil {
		e.Fatal(err)
	}
	return id
}

// Whatever becomes of a batch's jobs, its own runs when all are over, once it was released, and once only.
func TestBatch_RunsWhenAllAreOver(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	batch := e.batch("key => 'b', held => true")
	e.states("held", batch)
	first, second, third := e.joins(batch), e.joins(batch), e.joins(batch)
	e.end(scheduler.Failed, first, second, third)
	e.states("held", batch) // more may come
	last := e.joins(batch)
	e.exec("select bellhop.release($1)", int64(batch))
	e.states("blocked ready", batch, last)
	e.end(scheduler.Succeeded, last)
	e.states("ready", batch)
	look := view.NewLook(e.conn)
	count, ok, err := look.BatchCount(t.Context(), batch)
	want := view.BatchCount{Jobs: 4, Failed: 3, Succeeded: 1}
	if count != want || !ok || err != nil || count.Over() != 4 {
		t.Errorf("%+v, %v, %v", count, ok, err)
	}
	e.end(scheduler.Succeeded, batch)
	// Who builds it again, after a crash, adds nothing; who adds something comes too late.
	if again := e.batch("key => 'b', jobs => " + fmt.Sprintf("array[%d, %d]", first, last)); again != batch {
		t.Errorf("it is batch %d", again)
	}
	if said := e.fails("select bellhop.submit('cat', batch => $1)", int64(batch)); said == "" {
		t.Error("nothing is said")
	}
	if _, ok, err := look.BatchCount(t.Context(), 9999); ok || err != nil {
		t.Errorf("no batch: %v, %v", ok, err)
	}
}

func TestBatch_OnlyIfAllSucceed(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	batch := e.batch("on_failure => 'fail', jobs => array(select bellhop.submit('cat') from generate_series(1, 2))")
	e.states("blocked", batch)
	jobs := e.claim(demand(1))
	failed := scheduler.Verdict{State: scheduler.Failed, Counts: true}
	e.mustWrite(settle(jobs[0], scheduler.Result{Child: "cat.1", Error: "no luck", ExitCode: 3}, failed))
	e.states("failed", batch)
}

func TestBatch_OfNone(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.states("ready", e.batch("jobs => '{}'"))
}

// Those that join one by one are counted and no more; that comes to the same as looking at all of them again.
func TestBatch_CountsThoseThatJoin(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	batch := e.batch("held => true")
	first := e.joins(batch)
	e.end(scheduler.Succeeded, first)
	e.exec("select bellhop.submit('cat', batch => $1) from generate_series(1, 30)", int64(batch))
	// One that was there before, over or not, and one of this transaction that is over already.
	other := e.needs()
	e.exec("select bellhop.batch_add($1, array[$2::bigint, $3])", int64(batch), int64(other), int64(first))
	tx, err := e.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.exec("with gone as (select bellhop.submit('cat') as id) select bellhop.cancel(id), bellhop.batch_add($1, array[id]) from gone", int64(batch))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	is := func() string {
		t.Helper()
		return e.one(`select concat_ws(' of ', (select count(*) from bellhop.dependency d where d.job = j.id and not d.met), unmet)
			from bellhop.jobqueue j where id = $1`, int64(batch))
	}
	if got := is(); got != "31 of 31" {
		t.Errorf("it waits for %s", got)
	}
	e.exec("select bellhop.release($1)", int64(batch))
	jobs := e.claim(demand(100))
	for _, j := range jobs {
		e.mustWrite(settle(j, scheduler.Result{Child: "cat.1"}, scheduler.Verdict{State: scheduler.Succeeded, Counts: true}))
	}
	e.states("ready", batch)
	if len(jobs) != 31 {
		t.Errorf("%d were claimed", len(jobs))
	}
}
