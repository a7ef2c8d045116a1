package e2e

import (
	"slices"
	"testing"

	"bellhop/pgdev/pgtest"
)

// front is a database with FOSSology's names, as its front end finds it.
func front(t *testing.T) *env {
	t.Helper()
	e := setup(t)
	e.ok("migrate", "--compat", "fossology")
	return e
}

// queued inserts a row as the front end does.
func (e *env) queued(typ, args string, runOnPfile any) int64 {
	e.t.Helper()
	return value[int64](e, `insert into fossology.jobqueue (jq_job_fk, jq_type, jq_args, jq_runonpfile, jq_starttime, jq_endtime, jq_end_bits)
		values (12, $1, $2, $3, null, null, 0) returning jq_pk`, typ, args, runOnPfile)
}

const saidDone = `update fossology.jobqueue set jq_end_bits = 1, jq_endtext = 'Completed', jq_endtime = now(), jq_starttime = now() where jq_pk = $1`

// The importer inserts a row and says at once that it is done: the agent is
// never started for it. One that runs already is stopped.
func TestFOSSologyFront_WhatIsSaidToBeDoneIsNotRun(t *testing.T) {
	t.Parallel()
	e := front(t)
	e.sql("alter database " + value[string](e, "select quote_ident(current_database())") + " set fossology.grace = '1h'")
	e.pool.Reset()
	i := e.serve(agents("type: long, dialect: fossology, command: [" + e.foss("long", `echo "$data" >>"$DIR/up"; sleep 1000`) + "]"))
	imported := e.queued("long", "imported", "no")
	e.sql(saidDone, imported)
	if got := e.state(imported); got != "succeeded" {
		t.Errorf("the imported one is %s", got)
	}
	running := value[int64](e, `with none as (select set_config('fossology.grace', '0', true))
		insert into fossology.jobqueue (jq_type, jq_args, jq_runonpfile) select 'long', 'running', 'no' from none returning jq_pk`)
	pgtest.Eventually(t, patience, "the agent works", func() bool { return len(e.lines("up")) == 1 })
	e.sql(saidDone, running)
	pgtest.Eventually(t, patience, "nothing of it is left", func() bool { return len(i.processes()) == 0 })
	if got := e.state(running); got != "succeeded" {
		t.Errorf("the one that ran is %s", got)
	}
	if got := e.lines("up"); !slices.Equal(got, []string{"running"}) {
		t.Errorf("agents had %q", got)
	}
	next := value[int64](e, `with none as (select set_config('fossology.grace', '0', true))
		insert into fossology.jobqueue (jq_type, jq_args) select 'long', 'next' from none returning jq_pk`)
	pgtest.Eventually(t, patience, "its slot is free for another", func() bool { return len(e.lines("up")) == 2 })
	e.sql("delete from fossology.jobqueue where jq_pk = $1", next)
	pgtest.Eventually(t, patience, "nothing of a deleted one is left", func() bool { return len(i.processes()) == 0 })
}

// A row comes through the view and runs, after its moment, without anything
// else being said. Text that looks like SQL stays text.
func TestFOSSologyFront_ARowRunsAfterItsMoment(t *testing.T) {
	t.Parallel()
	e := front(t)
	e.serve(agents("type: says, dialect: fossology, command: [" + e.foss("says", `echo "NOTICE had $data"`) + "]"))
	id := e.queued("says", "select 1 as no", "no")
	e.waitState(id, "succeeded")
	has(t, e.logged(id), "NOTICE had select 1 as no")
	msq := e.queued("says", "select g as pfile_pk from generate_series(1, 2) g", "pfile_pk")
	e.waitState(msq, "succeeded")
	has(t, e.logged(msq), "NOTICE had 1", "NOTICE had 2")
}

// Each row of a query runs on the host that has the file that its column
// names, where hosts say what they have; a file that no host claims runs
// anywhere, and jq_host wins.
func TestFOSSologyFront_RowsRunWhereTheirFilesAre(t *testing.T) {
	t.Parallel()
	e := front(t)
	e.serve("hosts:\n  - {name: east, slots: 2, serves: [\"1*\"]}\n  - {name: west, slots: 2, serves: [\"2*\"]}\n" +
		agents("type: a, vars: [jobId, \"jq_*\"], command: ["+e.says("agent")+"]"))
	id := e.queued("a", "select pfile as a from (values (17), (18), (23)) v (pfile)", "a")
	e.waitState(id, "succeeded")
	if got := e.where(id); !slices.Equal(got, []string{`east a="17"`, `east a="18"`, `west a="23"`}) {
		t.Errorf("they ran on %q", got)
	}
	nobodys := e.queued("a", "select 99 as a", "a")
	e.waitState(nobodys, "succeeded")
	hosted := value[int64](e, `insert into fossology.jobqueue (jq_type, jq_args, jq_runonpfile, jq_host) values ('a', 'select 17 as a', 'a', 'west') returning jq_pk`)
	e.waitState(hosted, "succeeded")
	if got := e.where(hosted); !slices.Equal(got, []string{`west a="17"`}) {
		t.Errorf("with jq_host it ran on %q", got)
	}
}
