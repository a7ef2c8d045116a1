package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestExplain_Places: no host may run it, or none that may is there; and
// agents that do not come up. What cannot start says so in its row, too.
func TestExplain_Places(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve(`hosts:
  - {name: east, slots: 4, only_types: [sh, dies, slowstart]}
  - {name: picky, slots: 2, only_priorities: [-20, urgent]}
  - {name: away, slots: 2, connect: [/no/such/way]}
limits: {deaths: 1, window: 1h, start_timeout: 1h}
` + agents("type: sh, command: [sh, -c], mode: exec", "type: other, command: [sh, -c], mode: exec", "type: dies, command: [/no/such/agent]",
		"type: slowstart, command: ["+e.script("slowstart", "sleep 1000")+"]",
		"type: homely, dialect: fossology, local: true, command: ["+e.foss("homely", "")+"]"))
	marked := func(id int64, like string) {
		t.Helper()
		e.eventually(fmt.Sprintf("job %d waits for %s", id, like), "select coalesce(waiting_for, '') like $2 from bellhop.jobqueue where id = $1", id, like)
		if text := e.ok("explain", fmt.Sprint(id)); strings.Contains(text, "not_looked_at") || strings.Contains(text, "unexplained") {
			t.Errorf("it was looked at, and says\n%s", text)
		}
	}

	wrongType := e.insert("type, args, run_on", "other", "true", "east")
	marked(wrongType, "no_host: east takes only sh, dies, slowstart (only_types)")
	has(t, e.typed(e.because(wrongType, "no_host/refused", "east takes only sh, dies, slowstart")), "east", "picky",
		"away")
	wrongPriority := e.insert("type, args, run_on", "sh", "true", "picky")
	marked(wrongPriority, "no_host: picky takes only priorities -20 and names like %")
	e.because(wrongPriority, "no_host/refused", "only_priorities")
	homely := e.insert("type, args, run_on", "homely", "1", "away")
	marked(homely, "no_host: away is not its instance's own machine%")
	e.because(homely, "no_host/refused", "local: true")
	mars := e.insert("type, args, run_on", "sh", "true", "mars")
	marked(mars, "no_host: mars")
	has(t, e.typed(e.because(mars, "no_host", "'mars'", "There are: away, east, picky.")), "east")
	away := e.insert("type, run_on", "sh", "away")
	marked(away, "host_down: away: %")
	has(t, e.typed(e.because(away, "host_down", "away: ")), "down")
	left := e.insert("type", "other") // east takes no such type, picky no such priority
	marked(left, "host_down: away: %")
	e.because(left, "host_down", "away: ")
	unknown := e.insert("type", "nobody")
	marked(unknown, "unknown_type")
	e.because(unknown, "unknown_type", "dies, homely, other, sh, slowstart")
	e.because(e.insert("type, args", "attachment", "x"), "unknown_type/row", "commands")
	e.because(e.insert("type", "sh echo hi"), "unknown_type/worker", "'sh echo hi'", "bellhop.take")
	dies := e.insert("type", "dies")
	marked(dies, "agent_fails: east: %")
	has(t, e.typed(e.because(dies, "agent_fails", "east: ")), "dies")

	coming := e.insert("type, run_on", "slowstart", "east")
	e.waitState(coming, "assigned")
	e.typed(e.because(coming, "child_starting/silent", "slowstart.1 runs on east", " since ", "mode: exec"))
	e.typed(e.because(e.insert("type, run_on", "slowstart", "east"), "child_starting/first", "slowstart.1 on east since "))

	// Items of a query for a host that is away: it would run for ever, with nothing done.
	items := e.insert("type, msq, run_on", "sh", "select n, 'away' as run_on from generate_series(1, 7) n", "east")
	e.because(items, "items_wait", "7 of its items wait for away since ", "host_down: No host that it may run on can be reached: away: ")
	e.because(items, "running", "items done 0")
	// And of one whose agent does not come up.
	failing := e.insert("type, msq, run_on", "sh", "select 'true' as x, 'picky' as run_on", "east")
	e.because(failing, "items_wait", "1 of its items wait for picky", "no_host", "only_priorities")

	// What is advised, or follows from what is said, helps.
	e.sql("update bellhop.jobqueue set run_on = null where id = $1", mars)
	e.sql("update bellhop.jobqueue set priority = -20 where id = any ($1)", []int64{wrongPriority, wrongType})
	e.sql("update bellhop.jobqueue set run_on = 'picky' where id = $1", wrongType)
	for _, id := range []int64{mars, wrongPriority, wrongType} {
		e.waitState(id, "succeeded")
	}
	e.sql("delete from bellhop.host")
	e.because(left, "no_host/none")
}

// TestExplain_Turns: the order of jobs, room, what is paused, and a try that
// comes later.
func TestExplain_Turns(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts: [{name: local, slots: 2}]\nlimits: {min_ready: 1h}\n" + agents("type: sleep, command: [sleep], mode: exec, max_per_host: 1", "type: sh, command: [sh, -c], mode: exec"))
	busy := e.insert("type, args", "sleep", "1000")
	e.because(busy, "running", "by sleep.1, pid ", "attempt 1 of 1")
	first, second := e.insert("type, args", "sleep", "0"), e.insert("type, args", "sleep", "0")
	r := e.because(first, "no_room", fmt.Sprintf("(job %d)", busy), "max_per_host is 1, and local has 1")
	e.eventually("its row says so", "select coalesce(waiting_for, '') = 'no_room' from bellhop.jobqueue where id = $1",
		first)
	has(t, e.typed(r), fmt.Sprint(busy))
	has(t, e.typed(e.because(second, "queued", "1 job of its type comes first")), fmt.Sprint(first))
	e.ok("pause", "sleep")
	e.typed(e.because(first, "paused", "Type sleep is paused since"))
	e.saysNoMore(first, "paused")
	e.ok("pause")
	e.typed(e.because(first, "paused/all"))
	e.saysNoMore(first, "paused")
	retried := e.insert("type, args, max_attempts", "sh", "echo mother >&2; exit 3", 3)
	// In one statement: its delay may be over before a command has started.
	e.eventually("it is tried again later, much later", `with later as (update bellhop.jobqueue set run_at = 'infinity' where id = $1 and state = 'scheduled' returning 1)
		select exists (select from later)`, retried)
	e.typed(e.because(retried, "retry_delay", "Attempt 1 of 3 failed", "which is never"))
	e.cancel(busy)
	e.waitState(second, "succeeded")
}

// TestExplain_Alone: a job that must be alone on its instance, and those behind it.
func TestExplain_Alone(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.serve("hosts: [{name: local, slots: 4}]\n" + agents("type: sh, command: [sh, -c], mode: exec",
		"type: alone, dialect: fossology, exclusive: true, command: ["+e.foss("alone", `while [ ! -e "$DIR/over" ]; do sleep 0.05; done`)+"]",
		"type: late, command: ["+e.script("late", `[ -e "$DIR/tried" ] || { touch "$DIR/tried"; exit 9; }; while [ ! -e "$DIR/up" ]; do sleep 0.05; done; echo OK; while read line; do echo OK; done`)+"]"))
	// A child that died before it said OK, and the next that has not said it yet.
	late := e.insert("type", "late")
	e.waitState(late, "assigned")
	e.typed(e.because(late, "last_death", "on local died at ", "the 1. in a row", "exit status 9"))
	alone := e.insert("type, args", "alone", "1")
	e.typed(e.because(alone, "exclusive", fmt.Sprintf("job %d (late)", late)))
	e.eventually("its row says so", "select coalesce(waiting_for, '') like 'exclusive: %' from bellhop.jobqueue where id = $1", alone)
	e.file("up", "", 0o644)
	e.waitState(late, "succeeded")
	e.waitState(alone, "running")
	behind := e.insert("type, args", "sh", "true")
	has(t, e.typed(e.because(behind, "exclusive/behind", fmt.Sprintf("job %d (alone) is alone on instance", alone))),
		fmt.Sprint(alone))
	e.file("over", "", 0o644)
	e.waitState(behind, "succeeded")
	e.waitState(alone, "succeeded")
}

// TestExplain_WhileNobodyLooks: an instance that stands still, so that what it
// told stays as it is put here. What it would never say for long, too.
func TestExplain_WhileNobodyLooks(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("instance: {heartbeat: 200ms, lag: 1h}\nhosts: [{name: local, slots: 2}]\n" + agents("type: sh, command: [sh, -c], mode: exec", "type: up, command: [cat], mode: exec"))
	runs, items := e.insert("type, args", "sh", "sleep 1000"), e.insert("type, msq", "sh", "select 'sleep 1000' as line, pg_sleep(1000)::text as x")
	for _, id := range []int64{runs, items} {
		e.waitState(id, "running")
	}
	e.eventually("it has looked", "select looked is not null from bellhop.instance where id = $1", i.id)
	i.pause(t)
	me := i.id
	tells := func(bounds string) { e.sql("update bellhop.host set bounds = $1::jsonb", bounds) }
	e.sql("delete from bellhop.child")
	tells("{}")
	e.sql("update bellhop.jobqueue set waiting_for = 'items_wait: 5 for local since 2026-01-02T03:04:05Z' where id = $1", items)
	e.typed(e.because(items, "items_wait/starting", "5 of its items wait for local since 2026-01-02"))
	e.sql("update bellhop.jobqueue set state = 'assigned' where id = $1", runs)
	e.typed(e.because(runs, "child_starting", fmt.Sprintf("Instance %d has it", me), "coming up on local"))
	e.sql("update bellhop.jobqueue set state = 'running' where id = $1", runs)

	waits := e.insert("type, args", "sh", "true")
	e.typed(e.because(waits, "not_looked_at", ", which was at "))
	e.sql("update bellhop.jobqueue set waiting_for = 'lock node:a' where id = $1", waits)
	e.typed(e.because(waits, "waits", "lock node:a"))
	e.sql("update bellhop.jobqueue set waiting_for = null where id = $1", waits)
	e.sql("update bellhop.instance set looked = pg_current_xact_id() where id = $1", me)
	if r := e.because(waits, "unexplained", fmt.Sprintf("host local of instance %d, with 0 of 2 slots taken",
		me)); r.Next != "bellhop doctor" {
		t.Errorf("%+v", r) // what that says of this machine is not the point here
	}
	e.saysNoMore(waits, "not_looked_at")
	e.sql("update bellhop.instance set queries = 1 where id = $1", me)
	query := e.insert("type, msq", "sh", "select 1 as n")
	e.typed(e.because(query, "queries_full", fmt.Sprintf("%d (", me)))
	tells(`{"": "no_room: local has 2 of 2 slots taken", "up": ""}`)
	urgent, less := e.insert("type, args, priority", "sh", "true", -5), e.insert("type", "up")
	e.typed(e.because(less, "queued/others", fmt.Sprintf("job %d of type sh, priority -5", urgent)))
	tells("{}")
	e.ok("cancel", fmt.Sprint(less))

	e.sql("update bellhop.instance set stop = 'finish' where id = $1", me)
	e.typed(e.because(runs, "instance_stopping/one", "finish"))
	if r := e.because(waits, "instance_stopping", "is to finish"); r.Next != "bellhop serve" {
		t.Errorf("%+v", r)
	}
	e.sql("update bellhop.instance set stop = null where id = $1", me)
	e.sql("update bellhop.instance set heartbeat_at = clock_timestamp() - interval '45 min' where id = $1", me)
	e.typed(e.because(runs, "instance_silent/one", "for 45 min 0"))
	e.typed(e.because(waits, "instance_silent", "for 45 min 0", "lag of 1 h 00 min"))

	e.ok("cancel", fmt.Sprint(runs))
	e.typed(e.because(runs, "cancel_requested"))
	killed := e.insert("type", "sh")
	e.sql("update bellhop.jobqueue set state = 'running', instance = $2, host = 'local', started_at = now(), cancel_requested = true, killed_by = 'the boss' where id = $1", killed, me)
	e.typed(e.because(killed, "cancel_requested/killed", "the boss"))
	e.sql("update bellhop.jobqueue set state = 'ready', instance = null, host = null, started_at = null, cancel_requested = false, killed_by = null where id = $1", killed)
	i.signal(syscall.SIGCONT)
	e.waitState(runs, "cancelled")
	e.waitState(waits, "succeeded")
	e.waitState(urgent, "succeeded")
}

// TestExplain_NothingIsPromisedInVain: whatever holds a job back, after a look
// none says that a look is to come.
func TestExplain_NothingIsPromisedInVain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	i := e.serve("hosts: [{name: a, slots: 1, only_types: [x]}, {name: b, slots: 1, only_priorities: [3]}]\n" + agents("type: x, command: [sleep], mode: exec, max: 1", "type: y, command: [cat]"))
	for _, typ := range []string{"x", "y", "z"} {
		for _, place := range []any{nil, "a", "b", "c"} {
			for _, priority := range []int{0, 3} {
				e.insert("type, args, run_on, priority", typ, "1000", place, priority)
				e.insert("type, msq, run_on, priority", typ, "select '1000' as n, 'b' as run_on", place, priority)
			}
		}
	}
	made := value[string](e, "select pg_current_snapshot()::text")
	e.eventually("it has looked since", "select coalesce(looked > pg_snapshot_xmax($2::text::pg_snapshot), false) from bellhop.instance where id = $1", i.id, made)
	// What a mark has changed since is looked at with the next scan.
	e.eventually("each says why", `select not exists (select from bellhop.jobqueue j, bellhop.explanation(j.id) e where e.code in ('not_looked_at', 'unexplained'))`)
	for n := 0; n < 3; n++ {
		time.Sleep(time.Second) // it stays so
		if said := column[string](e, `select j.id || ' ' || e.sentence from bellhop.jobqueue j, bellhop.explanation(j.id) e where e.code = 'unexplained'`); len(said) > 0 {
			t.Errorf("it is not known why these wait: %s", said)
		}
	}
}
