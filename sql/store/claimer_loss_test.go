package store

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// After a failover an instance asks for what it has done. A job that ran again by then does not count as there.
// Nor does it hide that jobs before it are gone.
func TestLookBack_FindsARunThatWasRepeatedMeanwhile(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	done := func() (scheduler.Job, scheduler.Run) {
		j := e.running()
		r := scheduler.Run{Claim: j.Claim, CreatedAt: j.Submitted(), Over: true, Told: time.Now()}
		e.mustWrite(succeeded(j))
		return j, r
	}
	_, lost := done()
	_, there := done()
	retried, before := done()
	e.exec("select bellhop.retry($1)", int64(retried.Job))
	e.claim(demand(1))
	repeated, again := done()
	// The new server has the row as it was before its claim, and the job has run once more.
	e.exec(`update bellhop.jobqueue set state = 'ready', fence = fence - 1, attempt = 0, started_at = null, ended_at = null
		where id = $1`, int64(repeated.Job))
	if jobs := e.claim(demand(1)); len(jobs) != 1 || jobs[0].Job != repeated.Job {
		t.Fatalf("claimed: %v", jobs)
	}
	e.exec("update bellhop.jobqueue set fence = fence + 1 where id = $1", int64(repeated.Job))
	e.exec("delete from bellhop.jobqueue where id = $1", int64(lost.Job))
	for what, c := range map[string]struct {
		runs        []scheduler.Run
		gone, again int
	}{
		"its outcome is there":                                    {[]scheduler.Run{there}, 0, 0},
		"it was retried, and its outcome is kept":                 {[]scheduler.Run{before}, 0, 0},
		"it runs again":                                           {[]scheduler.Run{again}, 0, 1},
		"it has no row":                                           {[]scheduler.Run{lost}, 1, 0},
		"what came after it is there: it was deleted":             {[]scheduler.Run{lost, there}, 0, 0},
		"what came after it runs again: it may have been lost":    {[]scheduler.Run{lost, again}, 1, 1},
		"what came after it was retried here: it was deleted":     {[]scheduler.Run{lost, before}, 0, 0},
		"what came before it is there, which tells nothing of it": {[]scheduler.Run{there, lost}, 1, 0},
	} {
		gone, repeats, err := e.claimer.LookBack(t.Context(), e.me, scheduler.LookBack{Was: "a", Server: "b",
			Asked: time.Now(), Runs: c.runs})
		if err != nil || gone != c.gone || repeats != c.again {
			t.Errorf("%s: %d gone, %d again (%v), want %d and %d", what, gone, repeats, err, c.gone, c.again)
		}
	}
}
