package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/scheduler"
)

// looksAlways makes a session claim above horizons, and look beside its claims for what lies under them.
func looksAlways(t *testing.T) (e *env, claim func() int, again func(...scheduler.JobID)) {
	t.Helper()
	e = openEnv(t)
	always(e.claimer)
	e.claimer.position.EagerLooks()
	d := two(300)
	claim = func() int {
		t.Helper()
		jobs, err := e.claimer.Claim(t.Context(), e.me, d)
		if err != nil {
			t.Fatal(err)
		}
		return len(jobs)
	}
	again = func(ids ...scheduler.JobID) {
		e.exec("update bellhop.jobqueue set state = 'ready', instance = null, host = null where id = any ($1)", ids)
		d.Readmitted++
	}
	return e, claim, again
}

// looked waits until the look is over that the last claim began.
func (e *env) looked() {
	e.Helper()
	_, _, over := e.claimer.Later()
	if over == nil {
		e.Fatal("the claim began no look")
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		e.Fatal("a look takes more than a minute")
	}
}

// A claim leaves out what became ready again, and the next one after a look brings it: with others of its transaction,
// and beside what was inserted since.
func TestClaim_ALookFindsWhatIsReadyAgain(t *testing.T) {
	t.Parallel()
	e, claim, again := looksAlways(t)
	one, other := e.insert("type", "'cat'"), e.insert("type", "'dog'")
	if n := claim() + claim() + claim(); n != 2 {
		t.Fatalf("%d were claimed, want 2", n)
	}
	again(one)
	e.insert("type", "'cat'")
	if n := claim(); n != 1 {
		t.Errorf("%d come beside a look, want the new one alone", n)
	}
	again(other) // while the look may be under way
	e.looked()
	first := claim()
	if first == 0 {
		t.Error("the look did not find what was ready before it began")
	}
	if first == 1 {
		e.looked()
		if claim() != 1 {
			t.Error("a second look did not find the other")
		}
	}
	if n := claim(); n != 0 || e.one("select count(*) from bellhop.jobqueue where state = 'ready'") != "0" {
		t.Errorf("%d come once more", n)
	}
}

// More jobs than a look tells of are for a claim of everything. So are those that a look could not ask for.
func TestClaim_WhatALookCannotTellIsForAClaimOfEverything(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"more than a look tells": false, "no connection for a look": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, claim, again := looksAlways(t)
			var ids []scheduler.JobID
			for range belowMost {
				ids = append(ids, e.insert("type", "'cat'"))
			}
			if n := claim() + claim() + claim(); n != belowMost {
				t.Fatalf("%d were claimed", n)
			}
			if fails {
				tune := e.claimer.below.way.Tune
				e.claimer.below.way.Tune = func(c *pgx.ConnConfig) {
					tune(c)
					c.AfterConnect = func(context.Context, *pgconn.PgConn) error { return errors.New("no connection is left") }
				}
				ids = ids[:1]
			}
			again(ids...)
			if n := claim(); n != 0 {
				t.Fatalf("%d come before the look is over", n)
			}
			e.looked()
			if n := claim(); n != len(ids) {
				t.Errorf("%d come, want %d", n, len(ids))
			}
		})
	}
}
