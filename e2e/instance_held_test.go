package e2e

import (
	"context"
	"fmt"
	"testing"
)

// TestInstances_ALockedRowStopsNothingWhileTheLeaseLasts: a transaction that has locked the rows of instances keeps
// heartbeats waiting, and neither what runs nor what comes. What waits and what runs names the process.
func TestInstances_ALockedRowStopsNothingWhileTheLeaseLasts(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	e.listen = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	i := e.serve("instance: {heartbeat: 200ms, lag: 10m}\nhosts:\n  - {name: local, slots: 2}\n" + agents(j.agent("work", "exec")))
	runs := e.insert("type, args", "work", "hold")
	e.waitState(runs, "running")

	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it is over, if all went well
	if _, err := tx.Exec(t.Context(), "select from bellhop.instance for update"); err != nil {
		t.Fatal(err)
	}
	pid := fmt.Sprintf("Process %d of the server (the test) has locked the row of instance %d ", tx.Conn().PgConn().PID(), i.id)
	e.because(runs, "instance_held", pid)
	i.waitReady("has locked this instance's row")
	for range 20 { // each is claimed, started and recorded under the lock
		e.waitState(e.insert("type, args", "work", "1ms"), "succeeded")
	}
	other := e.insert("type, args", "work", "hold")
	e.waitState(other, "running")
	waits := e.insert("type, args", "work", "1ms")
	e.because(waits, "no_room")
	e.because(waits, "instance_held", pid)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.waitReady("ok")
	e.saysNoMore(runs, "instance_held")
	j.letGo()
	for _, id := range []int64{runs, other, waits} {
		e.waitState(id, "succeeded")
	}
	j.once()
}
