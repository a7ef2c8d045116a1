package e2e

import (
	"fmt"
	"testing"
)

// TestLocks_ALevelThatIsRenamedWhileJobsHoldIt: what runs keeps what it has, those that name the old level
// say so and lose nothing, others go on, and the name put back is all it takes.
func TestLocks_ALevelThatIsRenamedWhileJobsHoldIt(t *testing.T) {
	t.Parallel()
	e := setup(t)
	const host = "hosts:\n  - {name: local, slots: 3}\n"
	policy := func(level string) string {
		return host + "policy: {levels: [" + level + "]}\n" + agents("type: pause, command: [sleep], mode: exec")
	}
	old := e.serve(policy("db"))
	holder := e.insert("type, args, locks", "pause", "600", "{db:a=exclusive}")
	e.waitState(holder, "running")
	waits := e.insert("type, args, locks", "pause", "0", "{db:a=shared}")
	e.because(waits, "lock_held", fmt.Sprint("job ", holder))
	e.serve(policy("store"))
	renamed := e.insert("type, args, locks", "pause", "0", "{store:a=exclusive}")
	other := e.insert("type, args, locks", "pause", "0", "{db:b=exclusive}") // one of the two can read it
	e.ok("wait", fmt.Sprint(renamed), fmt.Sprint(other))
	if e.job(holder).State != "running" {
		t.Error("the holder is stopped")
	}
	old.kill() // and what it had begins anew, where nobody knows the level
	e.because(holder, "locks_malformed/level", `no level "db"`)
	e.serve(policy("db, store"))
	e.waitState(holder, "running")
	e.because(waits, "lock_held", fmt.Sprint("job ", holder))
	e.ok("cancel", "--now", fmt.Sprint(holder))
	e.ok("wait", fmt.Sprint(waits))
}
