package store

import (
	"slices"
	"testing"
	"time"

	"bellhop/scheduler"
	"bellhop/scheduler/engine"
)

// What runs on an engine goes on while its job changes its watcher: nobody else
// gets its locks meanwhile, and it gets them again.
func TestLocks_OfAnEnginesJobStayWhileItsWatcherChanges(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	engines := desk(e, NewEngines)
	first := e.passedAlone(e.locked("db:a=exclusive", "db:b=shared"))
	if _, err := engines.Record(t.Context(), e.me, "far", []scheduler.Claim{first.Claim}); err != nil {
		t.Fatal(err)
	}
	row := engine.Row{Job: int64(first.Claim.Job), Fence: int64(first.Claim.Fence),
		Tag: engine.Tag{Name: first.Claim.Tag(), State: engine.TagRunning}}
	if err := engines.Save(t.Context(), e.me, []engine.Row{row}, time.Now()); err != nil {
		t.Fatal(err)
	}
	e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: first.Claim, Attempt: 1})
	e.want(first.Claim.Job, "state", "ready")
	e.exec("update bellhop.jobqueue set priority = 10 where id = $1", int64(first.Claim.Job))
	urgent, reader := e.locked("db:a=exclusive"), e.locked("db:b=shared")
	if got := e.pass(1); !slices.Equal(got, []scheduler.JobID{reader}) {
		t.Fatalf("while it changes its watcher a pass takes %v, want %v", got, reader)
	}
	if got := e.one("select string_agg(mode, ' ' order by name) from bellhop.lock where job = $1", int64(first.Claim.Job)); got != "exclusive shared" {
		t.Errorf("meanwhile it holds %q", got)
	}
	again := e.passedAlone(first.Claim.Job)
	if again.Claim.Fence <= first.Claim.Fence {
		t.Errorf("claimed as %+v", again.Claim)
	}
	if got := e.pass(5); len(got) > 0 {
		t.Errorf("beside it a pass takes %v", got)
	}
	e.ends(again)
	e.passedAlone(urgent)
}

// Of any other job that is given back the locks are free, and so are those of an attempt on an engine that is over.
func TestLocks_OfAJobThatIsGivenBackAreFree(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	engines := desk(e, NewEngines)
	for _, state := range []engine.TagState{"", engine.TagEnded, engine.TagKilling} {
		first := e.passedAlone(e.locked("db:a=exclusive"))
		if state != "" {
			if _, err := engines.Record(t.Context(), e.me, "far", []scheduler.Claim{first.Claim}); err != nil {
				t.Fatal(err)
			}
			e.exec("update bellhop.engine_job set state = $1 where job = $2", string(state), int64(first.Claim.Job))
		}
		e.mustWrite(scheduler.Record{Kind: scheduler.RecordRequeue, Claim: first.Claim, Attempt: 1})
		e.exec("update bellhop.jobqueue set priority = 10 where id = $1", int64(first.Claim.Job))
		e.ends(e.passedAlone(e.locked("db:a=exclusive")))
		e.ends(e.passedAlone(first.Claim.Job))
	}
}

// passedAlone makes a pass, in which this job alone is taken.
func (e *env) passedAlone(want scheduler.JobID) scheduler.Job {
	e.Helper()
	got := e.passed(5)
	if len(got) != 1 || got[0].Claim.Job != want {
		e.Fatalf("a pass took %v, want %v", ids(got), want)
	}
	return got[0]
}
