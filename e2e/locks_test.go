package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// lockWorker is an agent that holds a file's lock while it works: two that have the
// same one at once are seen by the kernel, whatever bellhop believes.
const lockWorker = `exec 9>"$DIR/lock.${1%% *}"
flock -n 9 || echo "$1" >>"$DIR/conflicts"
echo "$1" >>"$DIR/ran"
sleep 0.02`

// TestLocks_NeverTwoJobsForOneCustomer: several instances work off jobs of few
// customers, and one of them is killed while it does. No customer is ever served
// twice at once, and all jobs end.
func TestLocks_NeverTwoJobsForOneCustomer(t *testing.T) {
	t.Parallel()
	const jobs, customers = 200, 4
	e := setup(t)
	work := agents(fmt.Sprintf("type: work, command: [%s], mode: exec, vars: [CUSTOMER], env: {DIR: %s}, locks: [\"customer:${vars.CUSTOMER}=exclusive\"]",
		e.script("worker", lockWorker), e.dir))
	e.serve(quick(1) + work)
	victim := e.serve(quick(4) + work) // the others have no room for all customers
	e.serve(quick(1) + work)
	e.sql(`insert into bellhop.jobqueue (type, args, vars)
	       select 'work', c, jsonb_build_object('CUSTOMER', c) from generate_series(1, $1) g, lateral (select (g % $2)::text as c) x`, jobs, customers)
	e.eventually("the victim has taken some", "select count(*) > 0 from bellhop.lock where instance = $1", victim.id)
	victim.kill()
	e.waitAll(fmt.Sprintf("succeeded %d", jobs))
	if conflicts := e.lines("conflicts"); len(conflicts) > 0 {
		t.Errorf("served twice at once: %v", conflicts)
	}
	if ran := len(e.lines("ran")); ran < jobs {
		t.Errorf("%d runs of %d jobs", ran, jobs)
	}
	e.eventually("nothing is held", "select count(*) = 0 from bellhop.lock")
}

// TestLocks_AJobSaysWhoHoldsItsLock: who waits takes no slot, and says for whom.
func TestLocks_AJobSaysWhoHoldsItsLock(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 2}\n" + agents("type: pause, command: [sleep], mode: exec"))
	first := strings.TrimSpace(e.ok("submit", "pause", "60", "--lock", "db:orders=exclusive"))
	second := strings.TrimSpace(e.ok("submit", "pause", "0", "--lock", "db:orders=exclusive"))
	e.eventually("it says so", "select coalesce(waiting_for, '') like 'lock_held: %' from bellhop.jobqueue where id = $1::bigint", second)
	e.ok("wait", strings.TrimSpace(e.ok("submit", "pause", "0"))) // the second slot is free
	e.eventually("how long it took is known", "select exists (select from bellhop.sketch where name = 'pause')")
	has(t, e.ok("explain", second), "lock_held", "job "+first, "db:orders=exclusive",
		"weight ", "(1 + db 3.0", "place 1 in its queue", "starts at any moment")
	has(t, e.ok("explain", second, "-o", "json"), `"weight":`, `"place": 1`, `"starts_p50":`, `"starts_p90":`)
	e.sql("delete from bellhop.sketch")
	has(t, e.ok("explain", second), "when it starts cannot be told: how long jobs take is not known")
	has(t, e.ok("locks"), "db:orders", "holds exclusive", "waits, 1.")
	e.ok("cancel", "--now", first)
	e.ok("wait", second)
	pgtest.Eventually(t, patience, "nobody has a lock", func() bool { return strings.HasPrefix(e.ok("locks"), "no job holds a lock") })
}

// TestLocks_OfTheAgentAreExplained: what a job waits for that only its agent says stands in no row of
// its own, and is told all the same; so is a limit, of which nothing is foretold.
func TestLocks_OfTheAgentAreExplained(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 6}\n" +
		agents("type: pause, command: [sleep], mode: exec, locks: [\"customer:${key}=exclusive\", \"node:*=shared\"]",
			"type: mail, command: [sleep], mode: exec"))
	first := strings.TrimSpace(e.ok("submit", "pause", "600", "--lock", "customer:b=exclusive"))
	second := strings.TrimSpace(e.ok("submit", "pause", "0", "--key", "b"))
	third := strings.TrimSpace(e.ok("submit", "mail", "0", "--lock", "node:n1=exclusive"))
	for _, id := range []string{second, third} {
		e.eventually("it says so", "select coalesce(waiting_for, '') like 'lock_held: %' from bellhop.jobqueue where id = $1::bigint", id)
	}
	has(t, e.ok("explain", second), "lock_held", "It needs the lock customer:b=exclusive; job "+first)
	has(t, e.ok("explain", third), "lock_held", "It needs the lock node:n1=exclusive; job "+first+" (pause) holds node:*=shared")
	e.ok("filter", "add", "--action", "RATE_LIMIT 1 per 1h", "--predicate", `["opcode",["=","type","mail"]]`)
	e.ok("wait", strings.TrimSpace(e.ok("submit", "mail", "0")))
	limited := strings.TrimSpace(e.ok("submit", "mail", "0"))
	e.eventually("it says so", "select coalesce(waiting_for, '') like 'rate_limited: %' from bellhop.jobqueue where id = $1::bigint", limited)
	has(t, e.ok("explain", limited), "rate_limited", "until 20", "cannot be told: a filter or a limit keeps it")
}

// TestLocks_HistoryIsReplayed: what has ended is a workload, beside what became of it.
func TestLocks_HistoryIsReplayed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 2}\n" + agents("type: pause, command: [sleep], mode: exec"))
	e.sql("insert into bellhop.jobqueue (type, args, locks) select 'pause', '0.01', '{db:orders=exclusive}' from generate_series(1, 5)")
	e.waitAll("succeeded 5")
	has(t, e.ok("simulate", "--from-history", "--since", "1h", "--order", "predictive,blind"), "as it was", "predictive", "blind")
	has(t, e.ok("simulate", "--from-history", "--order", "fifo", "-o", "json"), `"fifo"`, `"makespan"`, `"wait_p50"`, `"wait_p99"`, `"starts"`)
	if lines := strings.Count(e.ok("simulate", "--from-history", "--jobs", "3", "--print"), `"locks":["db:orders=exclusive"]`); lines != 3 {
		t.Errorf("%d jobs of the newest 3", lines)
	}
}

// TestLocks_WhatStoodThereWhenTriggersWereDisabled: a row is right whatever the triggers did.
func TestLocks_WhatStoodThereWhenTriggersWereDisabled(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("alter table bellhop.jobqueue disable trigger user")
	e.sql("insert into bellhop.jobqueue (type, args, locks) select 'pause', '0', '{a:b=exclusive}' from generate_series(1, 3)")
	e.sql("alter table bellhop.jobqueue enable trigger user")
	e.serve(agents("type: pause, command: [sleep], mode: exec"))
	e.waitAll("succeeded 3")
}

// TestLocks_EveryReasonIsTold: what keeps a job with locks waiting, each brought about.
func TestLocks_EveryReasonIsTold(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts:\n  - {name: local, slots: 6}\npolicy: {tick: 10ms, ageing_ticks: 1, levels: [r]}\n" +
		agents("type: pause, command: [sleep], mode: exec"))
	locked := func(seconds, locks string) int64 {
		return e.insert("type, args, locks", "pause", seconds, "{"+locks+"}")
	}
	a, b := locked("600", "r:a=exclusive"), locked("600", "r:b=shared")
	e.waitState(a, "running")
	e.waitState(b, "running")
	old := locked("0", "r:a=exclusive,r:b=exclusive")
	e.because(old, "lock_held", "r:a=exclusive", fmt.Sprint("job ", a))
	e.eventually("it is reserved for", "select count(*) = 1 from bellhop.lock_reserved where job = $1", old)
	e.ok("cancel", "--now", fmt.Sprint(a))
	e.because(locked("0", "r:a=shared"), "lock_reserved", fmt.Sprint("job ", old))
	var rows []struct {
		Job      int64
		What     string
		Reserved bool
	}
	if err := json.Unmarshal([]byte(e.ok("locks", "-o", "json")), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Job == old && !r.Reserved || r.What == "holds" && r.Reserved { // others may have grown old too
			t.Errorf("job %d is reserved for: %v", r.Job, r.Reserved)
		}
	}
	has(t, e.ok("locks"), "reserved for")
	e.because(locked("0", "x:a=shared"), "locks_malformed/level", `no level "x"`)
	first := e.insert("type, args, reasons", "pause", "600", "{rate-limit:1:mail}")
	e.waitState(first, "running")
	e.because(e.insert("type, args, reasons", "pause", "0", "{rate-limit:1:mail}"), "rate_limited", "rate-limit:1:mail")
}
