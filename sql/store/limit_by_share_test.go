package store

import (
	"slices"
	"testing"

	"bellhop/scheduler"
)

// A limit by share is one for each share: what is used up for one keeps no other back, and explain names it. Jobs
// without a share are one key.
func TestFilters_ALimitForEachShare(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.filter("RATE_LIMIT 1 per 1h by share", opcodeCat)
	var jobs []scheduler.JobID
	for _, share := range []string{"'a'", "'a'", "'b'", "null", "'b'", "null"} {
		jobs = append(jobs, e.insert("type, share", "'cat', "+share))
	}
	got := e.passed(9)
	if want := []scheduler.JobID{jobs[0], jobs[2], jobs[3]}; !slices.Equal(ids(got), want) {
		t.Fatalf("%v start, want the first of each: %v", ids(got), want)
	}
	e.ends(got...)
	if more := e.pass(9); len(more) > 0 {
		t.Fatalf("%v start within the hour", more)
	}
	e.explains(jobs[1], "rate_limited", `with share "a" until`, "bellhop filter info "+id)
	e.explains(jobs[5], "rate_limited", "without a share until")
	e.exec(`update bellhop.lock_grant set since = since - interval '1 hour', until = until - interval '1 hour'
	         where level = 'filter' and job = $1`, jobs[0])
	if more := e.pass(9); !slices.Equal(more, jobs[1:2]) {
		t.Errorf("after the hour of one: %v start, want %v", more, jobs[1:2])
	}
}

// It counts what runs already when the rule comes, and hands a place on to a job of the same share.
func TestFilters_ALimitByShareCountsWhatRuns(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	a := e.insert("type, share", "'cat', 'a'")
	runs := e.claim(demand(5))
	if !slices.Equal(ids(runs), []scheduler.JobID{a}) {
		t.Fatal(runs)
	}
	e.filter("RATE_LIMIT 1 by share", opcodeCat)
	second := e.insert("type, share", "'cat', 'a'")
	other := e.insert("type, share", "'cat', 'b'")
	if got := e.pass(9); !slices.Equal(got, []scheduler.JobID{other}) {
		t.Fatalf("%v start, want %v", got, other)
	}
	e.ends(runs...)
	if got := e.pass(9); !slices.Equal(got, []scheduler.JobID{second}) {
		t.Errorf("%v start, want %v", got, second)
	}
}
