package store

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// promoted is another server that did not receive what the first one wrote last: it gives the same ids again, and its
// unlogged tables are empty.
func promoted(t *testing.T) *env {
	t.Helper()
	e := openEnv(t)
	e.exec("truncate bellhop.era_now, bellhop.asserted")
	e.exec("update bellhop.server_seen set server = 'the first'")
	e.claimer, e.recorder = desk(e, NewClaimer), desk(e, NewRecorder)
	return e
}

// The wrong result that there was: a new job that had been given the id was recorded as done by the old one's run.
func TestEra_ANewJobIsNotTakenForOneThatWasLost(t *testing.T) {
	t.Parallel()
	a, b := openEnv(t), promoted(t)
	old := a.running()
	id := b.insert("type, args", "'cat', 'new'")
	if id != old.Claim.Job || b.me != a.me {
		t.Fatalf("job %d of instance %d there, %d of %d here: the test wants the same ids", old.Claim.Job, a.me, id, b.me)
	}
	hold := scheduler.Hold{Claim: old.Claim, Attempt: old.Attempt, Host: "local", CreatedAt: old.Submitted()}
	before := b.row(id)
	if n, _ := b.assert(b.claimer, b.me, hold); n != 0 {
		t.Errorf("%d taken again", n)
	}
	b.assert(b.claimer, b.me) // its run has been stopped
	// What the old run still says and becomes reaches the new job neither before it is claimed nor after.
	outcome := func(when string) {
		stale, _, err := b.recorder.Write(t.Context(), b.me, scheduler.Batch{Records: []scheduler.Record{succeeded(old)},
			Entries: []scheduler.Entry{{Claim: old.Claim, Attempt: 1, Level: scheduler.LevelOut, At: time.Now(), Text: "old"}},
			Failed:  []scheduler.FailedItem{{Claim: old.Claim, Item: 1, Line: "old"}}}, time.Now())
		if err != nil || len(stale) != 1 {
			t.Errorf("%s: the outcome of the old run is not refused", when)
		}
		if n := b.one("(select count(*) from bellhop.log) + (select count(*) from bellhop.item)"); n != "0" {
			t.Errorf("%s: %s lines and items of the old run stand with the new job", when, n)
		}
	}
	outcome("ready")
	if b.row(id) != before {
		t.Errorf("changed:\n%s\n%s", before, b.row(id))
	}
	jobs := b.claim(demand(1))
	if len(jobs) != 1 || jobs[0].Claim.Job != id || jobs[0].Fence <= old.Fence {
		t.Fatalf("claimed %+v after %+v", jobs, old.Claim)
	}
	outcome("running")
	b.want(id, "state", "running")
	b.mustWrite(succeeded(jobs[0]))
	b.want(id, "state", "succeeded")
}

// A run whose row has arrived goes on, though its claim was lost; not one that wants locks, which were lost with it.
func TestEra_ARunIsTakenAgainWhoseRowIsTheSame(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	plain, locked, edited := e.running(), e.running(), e.running()
	e.exec("update bellhop.jobqueue set state = 'ready', fence = 0, attempt = 0, instance = null, host = null, started_at = null")
	e.exec("update bellhop.jobqueue set locks = '{db:a=exclusive}' where id = $1", int64(locked.Claim.Job))
	e.exec("truncate bellhop.era_now, bellhop.asserted")
	e.exec("select bellhop.edit($1, args => 'other')", int64(edited.Claim.Job))
	var holds []scheduler.Hold
	for _, j := range []scheduler.Job{plain, locked, edited} {
		holds = append(holds, scheduler.Hold{Claim: j.Claim, Attempt: 1, Host: "local", CreatedAt: j.Submitted()})
	}
	if n, _ := e.assert(desk(e, NewClaimer), e.me, holds...); n != 1 {
		t.Errorf("%d taken again, want one", n)
	}
	e.want(plain.Claim.Job, "format('%s %s', state, fence)", "running 1")
	e.want(locked.Claim.Job, "state", "ready")
	e.want(edited.Claim.Job, "state", "ready") // what runs of it has the old argument
}

// A fence names one claim of a job in all eras, and grows from one to the next, whatever was lost in between.
func TestEra_NoFenceIsGivenTwice(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.insert("type", "'cat'")
	given := map[scheduler.Fence]bool{}
	last := scheduler.Fence(-1)
	for era := range 3 {
		claimer := desk(e, NewClaimer)
		e.assert(claimer, e.me)
		for n := range 2 {
			d := demand(1)
			d.Readmitted = uint64(n)
			jobs, err := claimer.Claim(t.Context(), e.me, d)
			if err != nil || len(jobs) != 1 {
				t.Fatal(jobs, err)
			}
			f := jobs[0].Fence
			if given[f] || f <= last {
				t.Errorf("era %d: fence %d after %d", era, f, last)
			}
			if era == 0 && f > 2 {
				t.Errorf("the first era's fences begin with %d", f)
			}
			given[f], last = true, f
			e.exec("update bellhop.jobqueue set state = 'ready', attempt = 0, instance = null where id = $1", int64(id))
		}
		// A crash that has undone both claims.
		e.exec("update bellhop.jobqueue set fence = 0 where id = $1", int64(id))
		e.exec("truncate bellhop.era_now, bellhop.asserted")
	}
}

// On another server no number is given out that the lost end may have held: instances, jobs, notices.
func TestEra_NumbersSkipAheadOnAnotherServer(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("truncate bellhop.era_now")
	if after := e.register("crashed", time.Minute); after != e.me+1 {
		t.Errorf("after a crash, which loses no number: %d", after)
	}
	e.exec("update bellhop.server_seen set server = 'the first'")
	e.exec("truncate bellhop.era_now")
	if after := e.register("promoted", time.Minute); after < e.me+100_000 {
		t.Errorf("an instance on another server is number %d", after)
	}
}

// A server that lacks all that was written since the first instance came knows of no server before it.
func TestEra_NumbersSkipAheadWhereTheFirstServerIsForgotten(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("truncate bellhop.era_now, bellhop.server_seen")
	if after := e.register("promoted", time.Minute); after < e.me+100_000 {
		t.Errorf("an instance on another server is number %d", after)
	}
}

// The second of two failovers may have lost that the first one skipped ahead: both begin from the same number.
func TestEra_TwoServersDoNotSkipToTheSameNumber(t *testing.T) {
	t.Parallel()
	a, b := promoted(t), promoted(t)
	if x, y := a.register("one", time.Minute), b.register("other", time.Minute); x == y {
		t.Errorf("instances of two servers are both number %d", x)
	}
}

// What runs here, and another server knows an older claim of, another instance may begin: it has to end before this
// instance asserts, which all claims wait for.
func TestEra_ARunThatTheServerDoesNotHaveEndsFirst(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	other := e.register("other", time.Minute)
	job, kept := e.running(), e.running()
	e.exec("update bellhop.jobqueue set fence = 0, instance = $2 where id = $1", int64(job.Claim.Job), int64(other))
	e.exec("truncate bellhop.era_now, bellhop.asserted")
	hold := func(j scheduler.Job) scheduler.Hold {
		return scheduler.Hold{Claim: j.Claim, Attempt: 1, Host: "local", CreatedAt: j.Submitted()}
	}
	claimer, lost := desk(e, NewClaimer), hold(job)
	a, err := claimer.Assert(t.Context(), e.me, []scheduler.Hold{lost, hold(kept)})
	if err != nil || len(a.Lost) != 1 || a.Lost[0] != job.Claim {
		t.Errorf("%+v, %v", a, err)
	}
	if n := e.one("select count(*) from bellhop.asserted"); n != "0" {
		t.Error("it is asserted while the run goes on")
	}
	if _, err := claimer.Claim(t.Context(), e.me, demand(1)); err == nil {
		t.Error("it claims while the run goes on")
	}
	lost.Over = true
	if a, err = claimer.Assert(t.Context(), e.me, []scheduler.Hold{lost, hold(kept)}); err != nil || len(a.Lost) != 0 {
		t.Errorf("when it is over: %+v, %v", a, err)
	}
	if _, err := claimer.Claim(t.Context(), e.me, demand(1)); err != nil {
		t.Error(err)
	}
}
