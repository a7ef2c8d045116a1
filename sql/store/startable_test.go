package store

import (
	"strings"
	"testing"
)

// Whether a job may start is written once, in the view startable, and once more in claim_above.sql, which must say it
// in
// words that its index fits.
func TestStartable_IsTheOneAnswer(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"claim": claimSQL, "claim_many": claimManySQL, "claim_only": claimOnlySQL,
		"backlog": backlogSQL, "backlog_free": backlogFreeSQL} {
		if !strings.Contains(text, "bellhop.startable") || strings.Contains(text, "unmet is null") {
			t.Errorf("%s.sql does not ask startable", name)
		}
	}
	e := openEnv(t)
	e.exec("alter table bellhop.jobqueue disable trigger user") // the view tests for itself
	e.exec("alter table bellhop.dependency disable trigger all")
	e.exec(`insert into bellhop.jobqueue (type, state, held, run_at, run_on)
	        select 'cat', s, h, r, p
	          from unnest('{held,blocked,scheduled,ready,assigned,running,succeeded,failed,cancelled,quarantined}'::text[]) s,
	               unnest('{true,false}'::bool[]) h, unnest(array[null, now() - interval '1 h', now() + interval '1 h']) r,
	               unnest(array[null, 'here']) p`)
	e.exec("insert into bellhop.jobqueue (type, not_after) values ('cat', now() - interval '1 h'), ('cat', now() + interval '1 h')")
	e.exec("insert into bellhop.jobqueue (type) select 'cat' from generate_series(1, 3)")
	last := "(select max(id) from bellhop.jobqueue)"
	e.exec("update bellhop.jobqueue set unmet = 1 where id = " + last)
	e.exec("insert into bellhop.dependency (job, needs) select " + last + " - 1, 1")                // not counted
	e.exec("insert into bellhop.dependency (job, needs, counted) select " + last + " - 2, 1, true") // counted, and met by now
	// Ready, not held, and due: two of three times, in both places; what is not too late yet; and the one whose
	// dependency is counted.
	if n := e.one("select count(*) from bellhop.startable"); n != "6" {
		t.Errorf("%s may start", n)
	}
	if n := e.one("select count(*) from bellhop.startable where id > " + last + " - 3"); n != "1" {
		t.Errorf("%s of those with dependencies may start", n)
	}
}
