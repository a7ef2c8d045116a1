package e2e

import (
	"slices"
	"testing"

	"bellhop/pgdev/pgtest"
)

// TestExplainRow_AdviceHelps: what keeps rows of an attached table from running,
// and what is advised, typed.
func TestExplainRow_AdviceHelps(t *testing.T) {
	t.Parallel()
	e := setup(t)
	work := e.script("work", `echo $1 >> $DIR/begun; while [ ! -e $DIR/go.$1 ]; do sleep 0.02; done`)
	e.sql(`create table "My Jobs" (id integer primary key, dispatch timestamptz, outcome text)`)
	e.ok("attach", `"My Jobs"`, "--pool", "0", "--cmd", work, "--status-col", "outcome")
	e.sql(`insert into "My Jobs" values (1), (2), (3), (4), (5)`)
	e.rowBecause("My Jobs", "1", "no_instance")
	e.serve("hosts:\n  - {name: local, slots: 8}\n" + obeys)

	e.typed(e.rowBecause("My Jobs", "1", "pool_paused"))
	begun := func(n int) func() bool { return func() bool { return len(e.lines("begun")) == n } }
	pgtest.Eventually(t, patience, "as many run as the advice says", begun(4))
	e.typed(e.rowBecause("My Jobs", "5", "pool_full", "All 4 places"))
	pgtest.Eventually(t, patience, "one more runs", begun(5))

	// Its job is over, and a transaction has the row locked.
	has(t, e.typed(e.rowBecause("My Jobs", "1", "row_has_job", "running")), "running")
	tx, err := e.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select from "My Jobs" where id = 1 for update`); err != nil {
		t.Fatal(err)
	}
	e.file("go.1", "", 0o600)
	e.rowBecause("My Jobs", "1", "outcome_pending", "succeeded")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.eventually("its outcome is written", `select coalesce(outcome, '') = 'succeeded' from "My Jobs" where id = 1`)
	has(t, e.typed(e.rowBecause("My Jobs", "1", "row_ran")), "succeeded")
	for _, n := range []string{"2", "3", "4", "5"} {
		e.file("go."+n, "", 0o600)
	}
	e.ran(`"My Jobs"`, "outcome")
	e.rowBecause("My Jobs", "6", "not_taken/missing")
	if !slices.Contains(e.lines("begun"), "5") {
		t.Errorf("begun: %q", e.lines("begun"))
	}
}
