package e2e

import (
	"context"
	"fmt"
	"testing"
)

// TestExplain_AnInstanceThatClaimsNothingSaysWhy: a lock on the table of the queue lets no claim through. The job says
// so, and no more when the lock is gone.
func TestExplain_AnInstanceThatClaimsNothingSaysWhy(t *testing.T) {
	t.Parallel()
	e, j := setup(t), newJournal(t)
	i := e.serve("instance: {heartbeat: 200ms, lag: 1h}\nhosts:\n  - {name: local, slots: 1}\n" + agents(j.agent("work", "exec")))
	e.waitState(e.insert("type, args", "work", "hold"), "running")
	id := e.insert("type, args", "work", "1ms")
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it is over, if all went well
	if _, err := tx.Exec(t.Context(), "lock table bellhop.jobqueue in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	j.letGo() // and the slot is free
	e.eventually("the instance says that it claims nothing", "select standstill is not null from bellhop.instance where id = $1", i.id)
	e.typed(e.because(id, "instance_busy", fmt.Sprintf("%d (", i.id), "its last claim failed", "lock timeout"))
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.waitState(id, "succeeded")
	e.eventually("it says so no more", "select standstill is null from bellhop.instance where id = $1", i.id)
}
