package store

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// A job that rests between its steps, and gets other content, begins that from its first step.
func TestReplace_ForgetsTheStepsOfTheOldContent(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.insert("type, args, key", "'cat', 'old', 'k'")
	j := e.claim(demand(1))[0]
	e.exec(`insert into bellhop.saved_step (job, name, output, bytes) values ($1, 'charge', '1', 1)`, int64(j.Claim.Job))
	e.rests(j, scheduler.Resting{Pause: time.Hour})
	if got := e.one("select bellhop.submit('cat', 'new', key => 'k', replace => true)"); got != "1" {
		t.Fatalf("it is job %s", got)
	}
	again := e.claim(demand(1))
	if len(again) != 1 || again[0].Args != "new" || keptOf(again[0]) != "" && keptOf(again[0]) != "{}  false" {
		t.Errorf("it begins with %+v, %q", again, keptOf(again[0]))
	}
}

// A claim that a crash has undone, and content that was replaced since: the run of the old content is not taken again.
func TestReplace_ARunFromBeforeACrashIsNotTakenAgain(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.insert("type, args, key", "'cat', 'old', 'k'")
	j := e.claim(demand(1))[0]
	e.exec(`update bellhop.jobqueue set state = 'ready', fence = fence - 1, attempt = attempt - 1, instance = null, host = null, started_at = null`)
	e.exec("insert into bellhop.era_now (floor, began_at) values ($1, clock_timestamp()) on conflict do nothing", int64(j.Claim.Fence)+1000)
	e.exec("update bellhop.era_now set floor = $1", int64(j.Claim.Fence)+1000)
	e.exec("select bellhop.submit('cat', 'new', key => 'k', replace => true)")
	hold := scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local", CreatedAt: j.Submitted()}
	n, err := e.claimer.Reassert(t.Context(), e.me, []scheduler.Hold{hold})
	if err != nil || n != 0 {
		t.Errorf("%d runs with the old content go on: %v", n, err)
	}
}

// A job that is killed while it needs another stays as it was killed, however the other ends.
func TestKilljob_StaysSoWhenWhatItNeedsEnds(t *testing.T) {
	t.Parallel()
	for _, ends := range []scheduler.JobState{scheduler.Succeeded, scheduler.Failed} {
		e := openEnv(t)
		e.insert("type", "'cat'")
		e.exec("select bellhop.submit('cat', after => '{1}')")
		e.exec("select bellhop.killjob(2)")
		before := e.one("select concat_ws(' ', state, ended_at, error) from bellhop.jobqueue where id = 2")
		j := e.claim(demand(1))[0]
		result := scheduler.Result{Child: "cat.1", Error: "no luck", ExitCode: 3, Ended: time.Now()}
		e.mustWrite(settle(j, result, scheduler.Verdict{State: ends, Counts: true}))
		if after := e.one("select concat_ws(' ', state, ended_at, error) from bellhop.jobqueue where id = 2"); after != before {
			t.Errorf("the other %s: %q became %q", ends, before, after)
		}
	}
}
