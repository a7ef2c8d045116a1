package e2e

import "testing"

// An operation over many jobs whose instance is killed in the midst is carried on by the next one: each job is changed
// once, none that came later, and all is as it was once that is undone.
func TestOperations_GoOnAfterACrash(t *testing.T) {
	t.Parallel()
	const jobs = 10_000 // more cannot be undone
	e := setup(t)
	yaml := agents("type: sh, command: [sh, -c], mode: exec")
	first := e.serve(yaml)
	e.sql("insert into bellhop.jobqueue (type) select 'nobody' from generate_series(1, $1::integer)", jobs)
	id := value[int64](e, `select bellhop.operation_plan('hold', '{"type": ["nobody"]}')`)
	e.sql("insert into bellhop.jobqueue (type) values ('nobody')")
	tx, err := e.pool.Begin(t.Context()) // it cannot end while somebody has one of its jobs
	if err != nil {
		t.Fatal(err)
	}
	lock := "select from bellhop.jobqueue order by id limit 1 offset $1 for update"
	if _, err := tx.Exec(t.Context(), lock, jobs/2); err != nil {
		t.Fatal(err)
	}
	e.sql("select bellhop.operation_start($1)", id)
	e.eventually("it is under way", "select done > 0 from bellhop.operation where id = $1", id)
	first.kill()
	e.serve(yaml)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.eventually("it is done", "select state = 'done' from bellhop.operation where id = $1", id)
	held, changed := value[int](e, "select count(*) from bellhop.jobqueue where state = 'held'"),
		value[int](e, "select done from bellhop.operation where id = $1", id)
	if held != jobs || changed != jobs {
		t.Errorf("%d are held, and it says %d, of %d", held, changed, jobs)
	}
	if late := value[string](e, "select state from bellhop.jobqueue order by id desc limit 1"); late != "ready" {
		t.Errorf("one that came after its plan is %s", late)
	}
	e.sql("select bellhop.operation_undo($1)", id)
	e.eventually("it is undone", "select state = 'undone' from bellhop.operation where id = $1", id)
	e.eventually("all are as they were", "select count(*) = $1 from bellhop.jobqueue where state = 'ready'", jobs+1)
}
