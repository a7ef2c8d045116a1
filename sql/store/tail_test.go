package store

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/position"
)

func some(n int, ring uint64) scheduler.Demand {
	return scheduler.Demand{
		Host:  "local",
		Total: n,
		MSQ:   true,
		Ring:  ring,
		Types: []scheduler.TypeDemand{{Type: "cat", Limit: n, MaxPriority: 19}},
	}
}

// A backlog is claimed to its end, in order, whatever lies before the tail: what
// has rung at once, what is locked as soon as there is nothing behind it.
func TestTail_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	other, err := pgx.Connect(t.Context(), e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	e.exec("insert into bellhop.jobqueue (type, args, priority) select 'cat', n::text, n / 500 from generate_series(1, 1000) n")
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select from bellhop.jobqueue where args in ('3', '150') for update"); err != nil {
		t.Fatal(err)
	}
	ring := uint64(1)
	seen := map[string]bool{}
	take := func(n int) (jobs []scheduler.Job) {
		jobs = e.claim(some(n, ring))
		for _, j := range jobs {
			if seen[j.Args] {
				t.Errorf("%s was claimed twice", j.Args)
			}
			seen[j.Args] = true
		}
		return jobs
	}
	take(100)
	if !behind(e.claimer, some(32, ring)) {
		t.Fatal("there is no mark after a hundred jobs")
	}
	if jobs := take(100); len(jobs) != 100 || jobs[0].Args != "102" {
		t.Errorf("then came %d from %s on", len(jobs), jobs[0].Args)
	}
	e.exec("insert into bellhop.jobqueue (type, args, priority) values ('cat', 'urgent', -20)")
	ring++ // as its INSERT rings
	if jobs := take(20); jobs[0].Args != "urgent" {
		t.Errorf("an urgent job rang, and %s came first", jobs[0].Args)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(take(64)) == 64 {
	}
	if len(seen) != 1001 || !seen["3"] || !seen["150"] {
		t.Errorf("%d of 1001 jobs were claimed: 3 %t, 150 %t", len(seen), seen["3"], seen["150"])
	}
	if behind(e.claimer, some(32, ring)) {
		t.Error("the mark is still there when nothing is left")
	}
}

// behind reports whether the next claim begins where the last one ended.
func behind(c *Claimer, d scheduler.Demand) bool {
	return c.position.From(d, time.Now()).Behind != position.Beginning
}

// A claim behind a tail is followed by one of everything. When that one fails,
// here because of a trigger of the user's, what the first has taken comes all
// the same: it is committed, and would lie there until an audit finds it.
func TestClaim_WhatTheFirstStatementTookComesBesideTheError(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`)
	e.exec(`create trigger refuse before update on bellhop.jobqueue for each row when (old.args = 'poison') execute function public.refuse()`)
	e.exec("insert into bellhop.jobqueue (type, args) select 'cat', n::text from generate_series(1, 40) n")
	if jobs := e.claim(some(32, 1)); len(jobs) != 32 || !behind(e.claimer, some(32, 1)) {
		t.Fatalf("%d jobs, at %+v", len(jobs), e.claimer.position)
	}
	e.exec("insert into bellhop.jobqueue (type, args, priority) values ('cat', 'poison', -1)") // before the tail
	jobs, err := e.claimer.Claim(t.Context(), e.me, some(32, 1))
	if err == nil || !strings.Contains(err.Error(), "not this one") {
		t.Errorf("the second statement was to fail: %v", err)
	}
	if len(jobs) != 8 || jobs[0].Args != "33" {
		t.Errorf("%d jobs came, 8 are claimed", len(jobs))
	}
	if n := e.one("select count(*) from bellhop.jobqueue where state = 'running'"); n != "40" {
		t.Errorf("%s jobs are claimed", n)
	}
}
