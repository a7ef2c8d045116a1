package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

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
	e.readerBecause("My Jobs", "6", "not_taken/unread")
	e.sql(`insert into "My Jobs" values (7, now(), 'by hand')`)
	e.rowBecause("My Jobs", "7", "row_ran/never")

	// There is room, and a transaction has the next rows locked.
	e.sql("update bellhop.attachment set pool = 0")
	e.sql(`insert into "My Jobs" values (8), (9)`)
	if tx, err = e.pool.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select from "My Jobs" where id > 7 for update`); err != nil {
		t.Fatal(err)
	}
	e.sql("update bellhop.attachment set pool = 4")
	e.rowBecause("My Jobs", "8", "not_taken")
	e.rowBecause("My Jobs", "9", "row_waits", "1 row comes before it")
	e.file("go.8", "", 0o600)
	e.file("go.9", "", 0o600)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.ran(`"My Jobs"`, "outcome")
	if !slices.Contains(e.lines("begun"), "5") {
		t.Errorf("begun: %q", e.lines("begun"))
	}
}

// TestExplainRow_TakenAhead: a quick row that is taken ahead of a free place waits for one, and so does its job.
func TestExplainRow_TakenAhead(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 2}\n" +
		agents("type: quick, command: ["+e.worker("quick", `while [ -e $DIR/hold ]; do sleep 0.02; done`)+"]"))
	e.sql("create table quick (id integer primary key, dispatch timestamptz)")
	e.sql("insert into quick select g from generate_series(1, 2000) g")
	e.ok("attach", "quick", "--type", "quick", "--pool", "1", "--index")
	e.eventually("rows are taken ahead", "select count(*) > 5 from bellhop.attached where live and ahead is not null")
	e.file("hold", "", 0o600)
	e.eventually("a row is held up", "select count(*) filter (where ahead is null) = 1 and count(*) > 2 from bellhop.attached where live")
	last := "from bellhop.attached where live order by ahead desc nulls last limit 1"
	e.rowBecause("quick", value[string](e, "select key "+last), "pool_full/ahead", "All 1 places")
	e.because(value[int64](e, "select job "+last), "pool_full/job")
	e.rowBecause("quick", "2000", "pool_full")

	if err := os.Remove(filepath.Join(e.dir, "hold")); err != nil {
		t.Fatal(err)
	}
}

// readerBecause asks as a reader that may not read the table.
func (e *env) readerBecause(table, key, cause string) {
	e.t.Helper()
	e.caused("row "+key+" of "+table, cause, nil, func() (all []reason) {
		err := pgx.BeginFunc(e.t.Context(), e.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(e.t.Context(), "set local role bellhop_reader"); err != nil {
				return err
			}
			rows, err := tx.Query(e.t.Context(), "select code, sentence, next from bellhop.explain_row($1, $2)", table, key)
			if err == nil {
				all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[reason])
			}
			return err
		})
		if err != nil {
			e.t.Fatal(err)
		}
		return all
	})
}
