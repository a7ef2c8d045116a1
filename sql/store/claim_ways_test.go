package store

import (
	"testing"
	"time"

	"bellhop/scheduler"
)

// claimWays are the statements that claim, each by a demand that takes it, and what is inserted for it.
var claimWays = map[string]struct {
	demand  scheduler.Demand
	columns string
	values  string
	above   bool // it looks above a horizon
}{
	"of one type": {demand: plainly(1), columns: "type", values: "'cat'"},
	"of a place":  {demand: demand(1), columns: "type", values: "'cat'"},
	"above a horizon": {demand: scheduler.Demand{Host: "local", Total: 2, MSQ: true, Types: []scheduler.TypeDemand{
		{Type: "cat", Limit: 1, MaxPriority: 19}, {Type: "dog", Limit: 1, MaxPriority: 19}}},
		columns: "type", values: "'cat'", above: true},
	"of what a host chooses": {demand: with(demand(1), func(d *scheduler.Demand) { d.Only = &scheduler.Only{} }),
		columns: "type", values: "'cat'"},
	"of jobs with locks": {demand: with(demand(1), func(d *scheduler.Demand) { d.Locked = true }),
		columns: "type, locks", values: "'cat', array['db:a=exclusive']"},
}

func with(d scheduler.Demand, change func(*scheduler.Demand)) scheduler.Demand {
	change(&d)
	return d
}

func plainly(most int) scheduler.Demand {
	return with(demand(most), func(d *scheduler.Demand) { d.Localities = nil })
}

// An instance that counts as dead claims by none of them.
func TestClaim_NoWayIsOpenToTheDead(t *testing.T) {
	t.Parallel()
	for name, way := range claimWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			if way.above {
				always(e.claimer)
				e.claim(way.demand)
			}
			id := e.insert(way.columns, way.values)
			if _, _, err := e.registry.MarkGone(t.Context(), e.me, "the test says so", true); err != nil {
				t.Fatal(err)
			}
			if jobs := e.claim(way.demand); len(jobs) > 0 {
				t.Error("one that was taken for dead claims")
			}
			e.want(id, "state", "ready")
		})
	}
}

// In an era that began with a crash, each of them gives fences above all that were given before.
func TestClaim_EveryWayKeepsAboveTheFloor(t *testing.T) {
	t.Parallel()
	for name, way := range claimWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openEnv(t)
			e.exec("truncate bellhop.era_now, bellhop.asserted")
			claimer := desk(e, NewClaimer)
			e.assert(claimer, e.me)
			if way.above {
				always(claimer)
				if _, err := claimer.Claim(t.Context(), e.me, way.demand); err != nil {
					t.Fatal(err)
				}
			}
			e.insert(way.columns, way.values)
			jobs, err := claimer.Claim(t.Context(), e.me, way.demand)
			if err != nil || len(jobs) != 1 {
				t.Fatal(jobs, err)
			}
			if floor := scheduler.Fence(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()); jobs[0].Fence < floor {
				t.Errorf("the fence is %d", jobs[0].Fence)
			}
		})
	}
}

// Between what a pass has read and what it claims, an app may change a job: then the job does not start.
func TestLocks_WhatChangesWithinAPassDoesNotStart(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	waits, cancelled := e.locked("db:a=shared"), e.locked("db:a=shared")
	held, runs := e.locked("db:a=shared"), e.locked("db:a=shared")
	e.exec("update bellhop.jobqueue set state = 'cancelled', ended_at = now() where id = $1", int64(cancelled))
	e.exec("update bellhop.jobqueue set state = 'held', held = true where id = $1", int64(held))
	e.exec("update bellhop.jobqueue set state = 'running', fence = 7, attempt = 1, instance = $2 where id = $1",
		int64(runs), int64(e.me))
	all := []int64{int64(waits), int64(cancelled), int64(held), int64(runs)}
	rows, err := e.conn.Query(t.Context(), locksClaimSQL, int64(e.me), "local", all, false, []int64{}, []string{},
		[]string{}, []string{}, []int64{}, []string(nil), int64(0))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := claimedJobs(rows, e.me, demand(4), time.Now(), 0)
	if got := ids(jobs); err != nil || len(got) != 1 || got[0] != waits {
		t.Errorf("%v start, want %v (%v)", got, waits, err)
	}
}

// An instance that is taken for dead between the look of a pass and its claims claims nothing: no other instance would
// free those jobs before it looks for strays.
func TestLocks_WhoIsTakenForDeadWithinAPassClaimsNothing(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	id := e.locked("db:a=shared")
	if _, _, err := e.registry.MarkGone(t.Context(), e.me, "the test says so", true); err != nil {
		t.Fatal(err)
	}
	rows, err := e.conn.Query(t.Context(), locksClaimSQL, int64(e.me), "local", []int64{int64(id)}, false, []int64{},
		[]string{}, []string{}, []string{}, []int64{}, []string(nil), int64(0))
	if err != nil {
		t.Fatal(err)
	}
	if jobs, err := claimedJobs(rows, e.me, demand(1), time.Now(), 0); err != nil || len(jobs) > 0 {
		t.Errorf("%v are claimed (%v)", ids(jobs), err)
	}
	e.want(id, "state", "ready")
}
