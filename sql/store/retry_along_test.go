package store

import (
	"testing"

	"bellhop/scheduler"
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
