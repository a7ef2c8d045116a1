package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

func (e *env) due() (int, time.Duration) {
	e.Helper()
	n, next, err := e.maintenance.Due(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	return n, next
}

// Infinity is a time too: the job never starts by itself, and keeps nobody from starting.
func TestDue_NeverIsNoError(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	never := e.insert("type, run_at", "'cat', 'infinity'")
	if n, next := e.due(); n != 0 || next >= 0 {
		t.Errorf("%d are due, the next in %v", n, next)
	}
	e.insert("type, run_at", "'cat', now() + interval '250000 years'")
	if n, next := e.due(); n != 0 || next != 24*time.Hour {
		t.Errorf("%d are due, the next in %v", n, next)
	}
	if got := e.column(never, "(select e::text from bellhop.explain(id) e)"); !strings.Contains(got, "infinity, which is never") {
		t.Errorf("it is explained as %q", got)
	}
}

func TestDue_MakesReadyWhatTheClockSays(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	if n, next := e.due(); n != 0 || next >= 0 {
		t.Errorf("an empty queue: %d, %s", n, next)
	}
	past := e.insert("type, run_at", "'cat', clock_timestamp() + interval '1 ms'")
	later := e.insert("type, run_at", "'cat', clock_timestamp() + interval '1 hour'")
	held := e.insert("type, run_at, held", "'cat', clock_timestamp() - interval '1 hour', true")
	e.want(later, "state", "scheduled")
	e.exec("select pg_sleep(0.002)")
	n, next := e.due()
	if n > 1 || next < 59*time.Minute || next > time.Hour { // it was ready from the start if the INSERT took a millisecond
		t.Errorf("%d due, the next in %s", n, next)
	}
	e.want(past, "state", "ready")
	e.want(later, "state", "scheduled")
	e.want(held, "state", "held")
	e.exec("delete from bellhop.jobqueue where id = $1", int64(later))
	if n, next := e.due(); n != 0 || next >= 0 {
		t.Errorf("nothing waits for the clock: %d, %s", n, next)
	}
	// One that came in with the triggers disabled.
	e.exec("alter table bellhop.jobqueue disable trigger user")
	e.insert("type, run_at", "'cat', clock_timestamp() + interval '1 minute'")
	if n, next := e.due(); n != 0 || next < 50*time.Second || next > time.Minute {
		t.Errorf("a ready row whose time is to come: %d, %s", n, next)
	}
}

func TestDue_FollowsWhatWasChangedByHand(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	freed := e.insert("type, held", "'cat', true")
	timed := e.insert("type, held, run_at", "'cat', true, clock_timestamp() + interval '1 hour'")
	atOnce := e.insert("type, run_at", "'cat', clock_timestamp() + interval '1 hour'")
	e.exec("update bellhop.jobqueue set held = false where held")
	e.exec("update bellhop.jobqueue set run_at = null where id = $1", int64(atOnce))
	if n, _ := e.due(); n != 3 {
		t.Errorf("%d rows followed, want 3", n)
	}
	e.want(freed, "state", "ready")
	e.want(timed, "state", "scheduled")
	e.want(atOnce, "state", "ready")
	if n, _ := e.due(); n != 0 {
		t.Errorf("%d rows the second time", n)
	}
}

func TestDue_FreesWhatGoneInstancesHold(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	mine := e.running()
	stray := e.running()
	// A claim that was under way in the very moment of the burial.
	dead := e.register("dead", time.Minute)
	if _, _, err := e.registry.MarkGone(t.Context(), dead, "dead", true); err != nil {
		t.Fatal(err)
	}
	e.exec("update bellhop.jobqueue set instance = $1 where id = $2", int64(dead), int64(stray.Claim.Job))
	if n, _ := e.due(); n != 1 {
		t.Errorf("%d freed, want one", n)
	}
	e.want(mine.Claim.Job, "state", "running")
	e.want(stray.Claim.Job, "format('%s %s %s %s', state, attempt, fence, instance is null)", "ready 0 1 t")
}

func TestExplainWaiting_SaysWhy(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	known, unknown := e.insert("type", "'cat'"), e.insert("type", "'catt'")
	mark := func() []scheduler.TypeName {
		found, err := e.maintenance.ExplainWaiting(t.Context(), scheduler.Looker{Instance: e.me})
		if err != nil {
			t.Fatal(err)
		}
		return found.Unknown
	}
	if types := mark(); len(types) != 1 || types[0] != "catt" {
		t.Errorf("unknown types: %v", types)
	}
	e.want(unknown, "waiting_for", "unknown_type")
	e.want(known, "waiting_for", "")
	if err := e.registry.Trouble(t.Context(), e.me, "cat",
		map[string]scheduler.Account{"local": {Reason: "no such file"}}); err != nil {
		t.Fatal(err)
	}
	mark()
	e.want(known, "waiting_for", "agent_fails: local: no such file")
	second := e.register("second", time.Hour) // where all is well
	mark()
	e.want(known, "waiting_for", "")
	for _, id := range []scheduler.InstanceID{e.me, second} {
		if _, _, err := e.registry.MarkGone(t.Context(), id, "dead", true); err != nil {
			t.Fatal(err)
		}
	}
	mark()
	e.want(known, "waiting_for", "no_instance")
}

// What waits for nobody costs a look no more than what it may: the rest is looked
// at in the next ones, and what is served in each.
func TestExplainWaiting_ManyTypesAreLookedAtInTurns(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("insert into bellhop.jobqueue (type) select 'nobody' || g from generate_series(1, $1) g", 2*explainTypes+10)
	served := e.insert("type", "'zcat'")
	e.exec("update bellhop.agent set type = 'zcat' where type = 'cat'") // behind all of them
	for look := 1; look <= 3; look++ {
		if err := e.registry.Trouble(t.Context(), e.me, "zcat",
			map[string]scheduler.Account{"local": {Reason: fmt.Sprint("look ", look)}}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.maintenance.ExplainWaiting(t.Context(), scheduler.Looker{Instance: e.me}); err != nil {
			t.Fatal(err)
		}
		e.want(served, "waiting_for", fmt.Sprint("agent_fails: local: look ", look))
		want := min(look*explainTypes, 2*explainTypes+10)
		if got := e.one("select count(*)::text from bellhop.jobqueue where waiting_for = 'unknown_type'"); got != fmt.Sprint(want) {
			t.Errorf("after %d looks %s types are told that nobody serves them, want %d", look, got, want)
		}
	}
}

// Jobs say which host they wait for, when nobody else could run them.
func TestExplainWaiting_NamesTheHostThatIsDown(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(
		"insert into bellhop.host (instance, name, slots, serves, state) values ($1, 'far', 4, '{srv:7}', 'connecting')",
		int64(e.me))
	free, here, there, shelf := e.insert("type", "'cat'"), e.insert("type, run_on", "'cat', 'local'"),
		e.insert("type, run_on", "'cat', 'far'"), e.insert("type, run_on", "'cat', 'srv:7'")
	state := func(host scheduler.HostName, state scheduler.HostState, words string) {
		t.Helper()
		if err := e.registry.HostState(t.Context(), e.me, host, state, words); err != nil {
			t.Fatal(err)
		}
		if _, err := e.maintenance.ExplainWaiting(t.Context(), scheduler.Looker{Instance: e.me}); err != nil {
			t.Fatal(err)
		}
	}
	const connecting, refused = "host_down: far: it is being connected to", "host_down: far: refused: no"
	state("far", scheduler.HostConnecting, "")
	e.want(there, "waiting_for", connecting)
	e.want(free, "waiting_for", "")
	state("far", scheduler.HostDown, "refused: no")
	e.want(there, "waiting_for", refused)
	e.want(shelf, "waiting_for", refused)
	e.want(free, "waiting_for", "")
	e.want(here, "waiting_for", "")
	before := e.one("select string_agg(xmin::text, ' ' order by id) from bellhop.jobqueue")
	state("far", scheduler.HostDown, "refused: no")
	if after := e.one("select string_agg(xmin::text, ' ' order by id) from bellhop.jobqueue"); after != before {
		t.Error("rows were written though nothing had changed")
	}
	state("local", scheduler.HostDown, "gone")
	e.want(here, "waiting_for", "host_down: local: gone")
	e.want(free, "waiting_for", refused+"; local: gone")
	second := e.register("second", time.Hour)
	e.exec("insert into bellhop.host (instance, name, slots, serves) values ($1, 'other', 4, '{srv:7}') on conflict do nothing", int64(second))
	state("far", scheduler.HostDown, "refused: no")
	e.want(shelf, "waiting_for", "")
	e.want(there, "waiting_for", refused)
	state("far", scheduler.HostUp, "")
	e.want(there, "waiting_for", "")
}

// What a round has made ready is told though a later statement of it fails:
// nothing else rings for it.
func TestDue_WhatWasMadeReadyIsToldBesideAnError(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`)
	due := e.insert("type, run_at", "'cat', clock_timestamp() + interval '1 h'")
	e.insert("type, args, held", "'cat', 'poison', true")
	e.exec("set session_replication_role = replica") // so that the round finds what was changed by hand
	e.exec("update bellhop.jobqueue set held = false where args = 'poison'")
	e.exec("update bellhop.jobqueue set run_at = clock_timestamp() where id = $1", int64(due))
	e.exec(`create trigger refuse before update on bellhop.jobqueue for each row when (old.args = 'poison') execute function public.refuse()`)
	n, _, err := e.maintenance.Due(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not this one") {
		t.Errorf("the statement that sees to what was changed by hand was to fail: %v", err)
	}
	if e.want(due, "state", "ready"); n != 1 {
		t.Errorf("%d are told to be ready", n)
	}
}

// What waits for the clock costs a look nothing until its time has come, however much there is.
func TestPlans_DueReadsOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec(`insert into bellhop.jobqueue (type, state, run_at, not_after)
		select 'cat', 'scheduled', now() + interval '1 day', now() + interval '2 days' from generate_series(1, 20000)`)
	e.exec("vacuum analyze bellhop.jobqueue")
	e.exec("vacuum analyze bellhop.deadline")
	for text, most := range map[string]int{
		"select * from bellhop.make_due()": 100, "select * from bellhop.expire(1000)": 30,
	} {
		planned(t, e.conn, text) // reads the catalogs
		if plan, pages := planned(t, e.conn, text); pages > most {
			t.Errorf("%s reads %d pages:\n%s", text, pages, plan)
		}
	}
}
