package store

import (
	"testing"

	"bellhop/scheduler"
)

// After a crash of the database a job that runs here may look ready: what it asks
// of locks is answered when it has been taken again, not forgotten.
func TestAskedLocks_NobodyIsOverBeforeWhatRunsIsAsserted(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	asked, j := desk(e, NewAskedLocks), e.running()
	ask := []scheduler.LockAsk{{Claim: j.Claim, Locks: []string{"disk:a=exclusive"}}}
	// What a crash does to a claim that was not on the disk, and to unlogged tables.
	e.exec("update bellhop.jobqueue set state = 'ready', instance = null, host = null, fence = 0, attempt = 0, started_at = null where id = $1", int64(j.Claim.Job))
	e.exec("truncate bellhop.asserted")
	if answers, over, err := asked.Ask(t.Context(), e.me, ask); err == nil || len(answers)+len(over) > 0 {
		t.Fatalf("answered %v, over %v, error %v", answers, over, err)
	}
	hold := scheduler.Hold{Claim: j.Claim, Attempt: j.Attempt, Host: "local", CreatedAt: j.Submitted()}
	if n, _ := e.assert(e.claimer, e.me, hold); n != 1 {
		t.Fatalf("%d jobs were taken again", n)
	}
	answers, over, err := asked.Ask(t.Context(), e.me, ask)
	if err != nil || len(over) > 0 || len(answers[j.Claim].Granted) != 1 {
		t.Errorf("answered %v, over %v, error %v", answers, over, err)
	}
}
