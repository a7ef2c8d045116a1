package store

import (
	"strings"
	"testing"

	"bellhop/sql"
)

// The keys that a view looks at every second cost a few pages where no job has a share, and with thousands of keys not
// more than those that it looks at.
func TestPlans_ShareHeadsReadFewRows(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, state, attempt, fence, started_at, ended_at, exit_code, share)
	        select 'cat', 'succeeded', 1, 1, clock_timestamp(), clock_timestamp(), 0, 'k' || g % 9 from generate_series(1, 50000) g`)
	e.exec(`insert into bellhop.jobqueue (type) select 't' || g % 20 from generate_series(1, 20000) g`)
	e.exec("vacuum analyze bellhop.jobqueue")
	text := sql.Query("look_share_heads")
	plan, pages := planned(t, e.conn, text, "5")
	if readsAll(t, plan, "jobqueue") || pages > 20 {
		t.Errorf("without shares it reads %d pages:\n%s", pages, plan)
	}
	e.exec(`insert into bellhop.jobqueue (type, share) select 's' || g % 3, 'key ' || g % 5000 from generate_series(1, 30000) g`)
	e.exec("vacuum analyze bellhop.jobqueue")
	if plan, pages = planned(t, e.conn, text, "5"); readsAll(t, plan, "jobqueue") || pages > 8000 {
		t.Errorf("with 5,000 keys it reads %d pages:\n%s", pages, plan)
	}
	// The first key, the next, that of the next type, and its jobs.
	if n := strings.Count(plan, `"jobqueue_shared"`); n != 4 {
		t.Errorf("%d of the four steps use jobqueue_shared:\n%s", n, plan)
	}
}

// A look at the queue reads no more jobs with a share than it counts, though none of them has a reason to show.
func TestPlans_QueueReadsNoMoreJobsWithSharesThanItCounts(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, share) select 'cat', 'key ' || g % 9 from generate_series(1, 60000) g`)
	e.exec("vacuum analyze bellhop.jobqueue")
	plan, pages := planned(t, e.conn, sql.Query("look_queue"))
	if pages > 700 {
		t.Errorf("it reads %d pages:\n%s", pages, plan)
	}
}
