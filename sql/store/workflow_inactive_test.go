package store

import (
	"strings"
	"testing"

	"bellhop/scheduler"
)

const aThenB = `[{"name":"a","type":"cat"},{"name":"b","type":"cat","after":["a"]}]`

// inactive is a workflow of which run 1 has begun and run 2 is queued when it is deactivated.
func inactive(e *env) {
	e.Helper()
	e.apply("w", "null", aThenB)
	e.one("select bellhop.workflow_run('w')")
	e.one("select bellhop.workflow_run('w')")
	e.exec("select bellhop.look_again(100)")
	e.one("select bellhop.workflow_change('w', 'deactivated')")
}

// bothSteps has the two steps of a run done.
func (e *env) bothSteps(run string) {
	e.Helper()
	e.exec("select bellhop.look_again(100)")
	e.byStep(scheduler.Succeeded, run+".a")
	e.byStep(scheduler.Succeeded, run+".b")
}

// hyperdrive.md 2.3: runs of an inactive workflow that were queued already ran there.
func TestInactive_WhatIsQueuedWaitsUntilItIsActiveAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	inactive(e)
	e.bothSteps("1")
	e.exec("select bellhop.look_again(100), bellhop.pass_dummies()")
	e.runs("1 succeeded, 2 queued")
	e.byStep(scheduler.Succeeded, "")
	if got := e.one("select reason from bellhop.run where id = 2"); got != "its workflow is not active" {
		t.Errorf("run 2 says %q", got)
	}
	if got := e.one("select string_agg(sentence || next, ' ') from bellhop.explain_workflow('w')"); !strings.Contains(
		got, "Run 2 is queued") || !strings.Contains(got, "bellhop workflow activate w") {
		t.Error(got)
	}
	for _, which := range []string{"step = 'a'", "id = (select gate from bellhop.run where id = 2)"} {
		got := e.one("select bellhop.explain(id) from bellhop.jobqueue where run = 2 and " + which)
		if !strings.Contains(got, "inactive: Run 2 of workflow w") || strings.Contains(got, "bellhop release") {
			t.Errorf("%s: %s", which, got)
		}
	}
	e.one("select bellhop.workflow_change('w', 'activated')")
	e.runs("1 succeeded, 2 running")
	if got := e.one("select coalesce(reason, 'none') from bellhop.run where id = 2"); got != "none" {
		t.Errorf("run 2 says %q", got)
	}
	e.bothSteps("2")
	e.runs("1 succeeded, 2 succeeded")
}

// Activated again before the run ahead was over, it is as if nothing had been.
func TestInactive_ActivatedBeforeItsTurnComes(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	inactive(e)
	e.one("select bellhop.workflow_change('w', 'activated')")
	e.runs("1 running, 2 queued")
	e.bothSteps("1")
	e.bothSteps("2")
	e.runs("1 succeeded, 2 succeeded")
}

// By hand a run begins all the same, and no two are ever running at once.
func TestInactive_RunsByHandDoNotWaitForIt(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	inactive(e)
	e.one("select bellhop.workflow_run('w')")
	e.runs("1 running, 2 queued, 3 queued")
	e.bothSteps("1")
	e.runs("1 succeeded, 2 queued, 3 running")
	e.one("select bellhop.workflow_change('w', 'activated')")
	e.exec("select bellhop.look_again(100)")
	e.runs("1 succeeded, 2 queued, 3 running")
	e.bothSteps("3")
	e.runs("1 succeeded, 2 running, 3 succeeded")
	e.bothSteps("2")
	e.runs("1 succeeded, 2 succeeded, 3 succeeded")
}

// Twice deactivated, what was queued first and what was queued by hand come one after the other.
func TestInactive_Twice(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	inactive(e)
	e.one("select bellhop.workflow_run('w')") // behind 1, before 2
	for _, what := range []string{"activated", "deactivated"} {
		e.one("select bellhop.workflow_change('w', $1)", what)
	}
	e.one("select bellhop.workflow_run('w')") // the same of 2 and 3
	e.bothSteps("1")
	e.runs("1 succeeded, 2 queued, 3 queued, 4 running")
	e.one("select bellhop.workflow_change('w', 'activated')")
	e.bothSteps("4")
	e.runs("1 succeeded, 2 queued, 3 running, 4 succeeded")
	e.bothSteps("3")
	e.bothSteps("2")
	e.runs("1 succeeded, 2 succeeded, 3 succeeded, 4 succeeded")
}

// No other way leads past it: it neither begins when what it needs is released, nor when where it begins is cancelled.
func TestInactive_NothingElseLetsItGo(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	inactive(e)
	e.exec("select bellhop.edit(id, hold => true) from bellhop.jobqueue where run = 1 and step = 'a'")
	e.exec("select bellhop.release(id) from bellhop.jobqueue where run = 1 and step = 'a'")
	e.exec("select bellhop.release(gate) from bellhop.run where id = 2")
	for _, verb := range []string{"cancel", "killjob"} {
		if got := e.fails("select bellhop." + verb + "(gate) from bellhop.run where id = 2"); !strings.Contains(got, "none of the steps") {
			t.Errorf("%s: %s", verb, got)
		}
	}
	e.bothSteps("1")
	e.runs("1 succeeded, 2 queued")
	if got := e.fails("select bellhop.workflow_change('w', 'deleted')"); !strings.Contains(got, "not over") {
		t.Error(got)
	}
	// Its steps may be cancelled: then it is over, and tried again it begins.
	e.exec("select bellhop.cancel(job) from bellhop.run_step where run = 2")
	e.runs("1 succeeded, 2 failed")
	if n := e.one("select count(*) from bellhop.jobqueue where state in ('held', 'blocked', 'ready')"); n != "0" {
		t.Errorf("%s jobs are left", n)
	}
	e.one("select bellhop.workflow_retry(2)")
	e.bothSteps("2")
	e.runs("1 succeeded, 2 succeeded")
}
