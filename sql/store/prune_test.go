package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/sql/view"
)

// prunes deletes jobs that ended in one of these states, and wants so many; a dry run counts as many.
func (e *env) prunes(want int64, states ...scheduler.JobState) {
	e.Helper()
	look, filter := view.NewLook(e.conn), view.PruneFilter{States: states}
	rows, err := look.PruneCount(e.Context(), filter)
	if err != nil {
		e.Fatal(err)
	}
	counted := int64(0)
	for _, r := range rows {
		counted += r.Jobs
	}
	if got := must(look.Prune(e.Context(), filter)); got != want || counted != want {
		e.Errorf("prune of %s: %d counted, %d deleted, want %d", states, counted, got, want)
	}
}

// Law: prune leaves a run whole, or deletes all of it. Without one of its steps a failed run could succeed.
func TestPrune_NeverSplitsARun(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[{"name":"pay","type":"cat"},{"name":"mail","type":"cat"}]`)
	e.exec("select bellhop.workflow_run('w')")
	e.exec("select bellhop.cancel(job) from bellhop.run_step where step = 'pay'")
	e.byStep(scheduler.Failed, "1.mail")
	e.runs("1 failed")
	e.prunes(0, "succeeded", "cancelled")
	e.prunes(0, "failed")
	if got := e.one("select bellhop.workflow_retry(1)"); got != "2" {
		t.Fatalf("%s steps go on", got)
	}
	e.byStep(scheduler.Failed, "1.pay 1.mail")
	e.insert("type, args, on_failure", "'cat', 'needs mail', 'block'")
	e.exec(`insert into bellhop.dependency (job, needs, wanted) select j.id, s.job, '{succeeded}'
		from bellhop.jobqueue j, bellhop.run_step s where j.args = 'needs mail' and s.step = 'mail'`)
	e.prunes(0, "failed") // that step stays, and so do all
	e.exec("delete from bellhop.jobqueue where args = 'needs mail'")
	e.prunes(2, "failed")
	e.runs("")
	if got := e.one("select count(*) from bellhop.jobqueue"); got != "0" {
		t.Errorf("%s jobs are left of a run that is deleted", got)
	}
}

// A run whose steps are deleted cannot go on, and says so.
func TestWorkflow_ARunWithoutStepsIsNotRetried(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", `[{"name":"a","type":"cat"}]`)
	e.exec("select bellhop.workflow_run('w')")
	e.byStep(scheduler.Failed, "1.a")
	e.exec("delete from bellhop.jobqueue where step = 'a'")
	if got := e.fails("select bellhop.workflow_retry(1)"); !strings.Contains(got, "the jobs of run 1 are not there any more") {
		t.Error(got)
	}
}

// A run that was skipped never had a step. It goes with jobs that were cancelled, and with no other: its event is known
// for as long as it is there.
func TestPrune_SkippedRunsGoWithCancelledJobs(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_event('w', 'order ' || g) from generate_series(1, 3) g")
	e.exec("select bellhop.take_events(10, false)") // one runs, one is queued, one is skipped
	e.prunes(0, "succeeded", "failed", "quarantined")
	e.runs("1 running, 2 queued, 3 skipped")
	if got := e.one("select bellhop.workflow_event('w', 'order 3')"); got != "false" {
		t.Errorf("the event is new again: %s", got)
	}
	e.prunes(0, "cancelled")
	e.runs("1 running, 2 queued")
}

// Law: a child stays until its parent has heard how all of its children ended.
func TestPrune_KeepsChildrenOfAParentThatRests(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.insert("type", "'cat'")
	e.rests(e.claim(demand(1))[0], scheduler.Resting{Children: `[{"type":"cut"},{"type":"cut"}]`})
	children := e.claimOf("cut", 2)
	answer := &scheduler.Answer{Result: []byte(`{"w": 2}`)}
	e.mustWrite(settle(children[0], scheduler.Result{Child: "cut.1", Answer: answer},
		scheduler.Verdict{State: scheduler.Succeeded, Counts: true}))
	e.prunes(0, "succeeded")
	keep := KeepAll{Every: month.Every, Jobs: []Keep{{State: "succeeded", For: 1}}}
	if n := e.keeps(e.retention(keep)); n != 0 {
		t.Errorf("retention deletes %d of them", n)
	}
	e.failed(children[1], "no luck")
	if got := keptOf(e.claim(demand(1))[0]); !strings.Contains(got, `"result": {"w": 2}`) {
		t.Errorf("its next run has %s", got)
	}
}

// Law: a transaction that deletes some of many jobs ends between two runs, however few it takes.
func TestPrune_ABatchEndsBetweenRuns(t *testing.T) {
	t.Parallel()
	for name, delete := range map[string]string{
		"prune":     "select coalesce(last, 0) from bellhop.prune('-1 s', '{succeeded}', %d, 2)",
		"retention": "select case when bellhop.retain_runs('{succeeded}', '{0}', 2, null) > 0 then %d + 1 else 0 end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.apply("w", "null", chain)
			for run := 1; run <= 3; run++ {
				e.exec("select bellhop.workflow_run('w')")
				for _, step := range []string{"a", "b", "c"} {
					e.byStep(scheduler.Succeeded, fmt.Sprintf("%d.%s", run, step))
				}
			}
			e.insert("type, state, ended_at", "'cat', 'succeeded', now()") // of no run
			past, calls := "0", 0
			for past != "0" || calls == 0 {
				var at int
				if _, err := fmt.Sscan(past, &at); err != nil {
					t.Fatal(err)
				}
				past = e.one(fmt.Sprintf(delete, at))
				if got := e.one(`select coalesce(string_agg(run || ' has ' || n, ', '), '') from (select run, count(*) as n from bellhop.jobqueue
					where step is not null group by run having count(*) <> 3) x`); got != "" {
					t.Fatalf("after %d transactions run %s steps", calls+1, got)
				}
				if calls++; calls > 10 {
					t.Fatal("it does not end")
				}
			}
			if calls < 3 {
				t.Errorf("it took %d transactions: this test shows nothing", calls)
			}
			e.runs("")
		})
	}
}

// A run of which another session holds one step stays, with all its steps.
func TestPrune_ALockedStepKeepsItsRun(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.apply("w", "null", chain)
	e.exec("select bellhop.workflow_run('w')")
	for _, step := range []string{"1.a", "1.b", "1.c"} {
		e.byStep(scheduler.Succeeded, step)
	}
	other, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	if _, err := other.Exec(t.Context(), "begin; select from bellhop.jobqueue where step = 'b' for update"); err != nil {
		t.Fatal(err)
	}
	if got := e.one("select deleted from bellhop.prune('-1 s', '{succeeded}', 0, 100)"); got != "0" {
		t.Errorf("%s jobs of the run were deleted", got)
	}
	if got := e.one("select bellhop.retain_runs('{succeeded}', '{0}', 100, null)"); got != "0" {
		t.Errorf("retention deleted %s of it", got)
	}
	if _, err := other.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	e.prunes(3, "succeeded")
}
