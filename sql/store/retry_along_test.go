package store

import (
	"testing"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// What went by a failure goes again after the retry of what failed, in runs and in plain graphs.
func TestRetry_TakesAlongWhatWentByTheFailure(t *testing.T) {
	t.Parallel()
	const steps = `[{"name":"load","type":"cat"},{"name":"cleanup","type":"cat","after":["load"],"on_failure":"run"},
		{"name":"report","type":"cat","after":["cleanup"]},{"name":"other","type":"cat"}]`
	again := func(e *env, run func()) {
		t.Helper()
		e.apply("w", "null", steps)
		e.one("select bellhop.workflow_run('w')")
		jobs := e.claim(demand(100))
		for _, j := range jobs {
			state := scheduler.Succeeded
			if e.one("select step from bellhop.jobqueue where id = $1", int64(j.Claim.Job)) == "load" {
				state = scheduler.Failed
			}
			e.mustWrite(settle(j, scheduler.Result{Child: "cat.1", Error: "no luck"},
				scheduler.Verdict{State: state, Counts: true}))
		}
		e.exec("select bellhop.look_again(100)")
		e.byStep(scheduler.Succeeded, "1.cleanup")
		e.byStep(scheduler.Succeeded, "1.report")
		e.runs("1 failed")
		run()
		e.runs("1 running")
		e.exec("select bellhop.look_again(100)")
		e.byStep(scheduler.Succeeded, "1.load")
		e.byStep(scheduler.Succeeded, "1.cleanup")
		e.byStep(scheduler.Succeeded, "1.report")
		e.runs("1 succeeded")
		if got := e.one(`select string_agg(step || ' ' || attempt, ', ' order by step) from bellhop.jobqueue where step is not null`); got !=
			"cleanup 2, load 2, other 1, report 2" {
			t.Errorf("attempts: %s", got)
		}
	}
	e := openEnv(t)
	again(e, func() {
		if n := e.one("select bellhop.workflow_retry(1)"); n != "3" {
			t.Errorf("%s steps are tried again, want 3", n)
		}
	})
	f := openEnv(t)
	again(f, func() { f.one("select bellhop.retry(id) from bellhop.jobqueue where step = 'load'") })
}

// A plain graph: of jobs that want a failure, one that is over goes again, one that waits for others waits anew,
// and one that has begun goes on.
func TestRetry_InAPlainGraph(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("select bellhop.submit('cat', 'root'), bellhop.submit('cat', 'beside')")
	e.exec("select bellhop.submit('cat', 'cleanup', after => '{1}', on_failure => 'run'), bellhop.submit('cat', 'both', after => '{1,2}', on_failure => 'run')")
	end := func(state scheduler.JobState, args string) {
		t.Helper()
		for _, j := range e.claim(demand(1)) {
			if got := e.one("select args from bellhop.jobqueue where id = $1", int64(j.Claim.Job)); got != args {
				t.Fatalf("%s runs, want %s", got, args)
			}
			e.mustWrite(settle(j, scheduler.Result{Child: "cat.1", Error: "no luck"},
				scheduler.Verdict{State: state, Counts: true}))
		}
		e.exec("select bellhop.look_again(100)")
	}
	end(scheduler.Failed, "root")
	end(scheduler.Succeeded, "beside")
	end(scheduler.Succeeded, "cleanup")
	e.one("select bellhop.retry(1)")
	if got := e.one("select string_agg(args || ' ' || state, ', ' order by id) from bellhop.jobqueue"); got !=
		"root ready, beside succeeded, cleanup blocked, both ready" { // both may run at any time: it stays
		t.Errorf("after the retry: %s", got)
	}
	end(scheduler.Succeeded, "root")
	end(scheduler.Succeeded, "cleanup")
	end(scheduler.Succeeded, "both")
	if got := e.one("select count(*) from bellhop.jobqueue where state <> 'succeeded'"); got != "0" {
		t.Errorf("%s are not over", got)
	}
}

// A job that went by a cancelled job's outcome, and that the cancelled job still waits for, keeps what it went by: a
// retry that made it wait anew would have the two wait for each other for ever.
func TestRetry_ClosesNoCycle(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type, args, on_failure, held) values ('cat', 'waits', 'fail', false), ('cat', 'needed', 'run', true)")
	e.exec("insert into bellhop.dependency (job, needs) values (1, 2)")
	e.exec("select bellhop.cancel(1)")
	e.exec("insert into bellhop.dependency (job, needs) values (2, 1)")
	e.one("select bellhop.retry(1)")
	e.exec("select bellhop.look_again(100)")
	if got := e.one("select string_agg(args || ' ' || state, ', ' order by id) from bellhop.jobqueue"); got != "waits blocked, needed held" {
		t.Errorf("after the retry: %s", got)
	}
	e.exec("select bellhop.release(2)")
	if got := e.one("select string_agg(args || ' ' || state, ', ' order by id) from bellhop.jobqueue"); got != "waits blocked, needed ready" {
		t.Errorf("after the release: %s", got)
	}
}

// Law: a step and the jobs behind it run again within their run. The next run waits for the end of this one, and needs
// none of its results: it stays as it is, and a look before says so.
func TestRetryBehind_StaysInItsRun(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_run('w') from generate_series(1, 3)")
	for _, step := range []string{"1.a", "1.b"} {
		e.byStep(scheduler.Succeeded, step)
	}
	e.byStep(scheduler.Failed, "1.c")
	for _, step := range []string{"2.a", "2.b", "2.c"} {
		e.exec("select bellhop.look_again(100)")
		e.byStep(scheduler.Succeeded, step)
	}
	e.runs("1 failed, 2 succeeded, 3 running")
	var step scheduler.JobID
	if err := e.conn.QueryRow(t.Context(), "select job from bellhop.run_step where run = 1 and step = 'b'").
		Scan(&step); err != nil {
		t.Fatal(err)
	}
	behind, ok, err := view.NewLook(e.conn).Behind(t.Context(), step)
	if err != nil || !ok || behind.Follow != 1 || behind.Wait != 0 || behind.Refused() {
		t.Errorf("a look before says %+v, %v", behind, err)
	}
	if got := e.one("select bellhop.retry_behind($1)", int64(step)); got != "2" {
		t.Errorf("%s jobs are tried again", got)
	}
	e.runs("1 running, 2 succeeded, 3 running")
}

// A held step is released with the steps behind it, and not with those of the next run.
func TestRelease_StaysInItsRun(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_run('w') from generate_series(1, 2)")
	e.exec("update bellhop.jobqueue set held = true where step in ('b', 'c')")
	e.exec("select bellhop.release(job) from bellhop.run_step where run = 1 and step = 'b'")
	if got := e.one(`select string_agg(s.run || '.' || s.step, ' ' order by s.job)
		from bellhop.run_step s join bellhop.jobqueue j on j.id = s.job where j.held`); got != "2.b 2.c" {
		t.Errorf("held are %s", got)
	}
}
