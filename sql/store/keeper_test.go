package store

import (
	"strings"
	"testing"
	"time"

	"bellhop/scheduler"
)

func (o *office) due() (int, time.Duration) {
	o.Helper()
	n, next, err := o.keeper.Due(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	return n, next
}

// Infinity is a time too: the job never starts by itself, and keeps nobody from starting.
func TestDue_NeverIsNoError(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	never := o.insert("type, run_at", "'cat', 'infinity'")
	if n, next := o.due(); n != 0 || next >= 0 {
		t.Errorf("%d are due, the next in %v", n, next)
	}
	o.insert("type, run_at", "'cat', now() + interval '250000 years'")
	if n, next := o.due(); n != 0 || next != 24*time.Hour {
		t.Errorf("%d are due, the next in %v", n, next)
	}
	if got := o.column(never, "(select e::text from bellhop.explain(id) e)"); !strings.Contains(got, "infinity, which is never") {
		t.Errorf("it is explained as %q", got)
	}
}

func TestDue_MakesReadyWhatTheClockSays(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	if n, next := o.due(); n != 0 || next >= 0 {
		t.Errorf("an empty queue: %d, %s", n, next)
	}
	past := o.insert("type, run_at", "'cat', clock_timestamp() + interval '1 ms'")
	later := o.insert("type, run_at", "'cat', clock_timestamp() + interval '1 hour'")
	held := o.insert("type, run_at, held", "'cat', clock_timestamp() - interval '1 hour', true")
	o.want(later, "state", "scheduled")
	o.exec("select pg_sleep(0.002)")
	n, next := o.due()
	if n > 1 || next < 59*time.Minute || next > time.Hour { // it was ready from the start if the INSERT took a millisecond
		t.Errorf("%d due, the next in %s", n, next)
	}
	o.want(past, "state", "ready")
	o.want(later, "state", "scheduled")
	o.want(held, "state", "held")
	o.exec("delete from bellhop.jobqueue where id = $1", int64(later))
	if n, next := o.due(); n != 0 || next >= 0 {
		t.Errorf("nothing waits for the clock: %d, %s", n, next)
	}
	// One that came in with the triggers disabled.
	o.exec("alter table bellhop.jobqueue disable trigger user")
	o.insert("type, run_at", "'cat', clock_timestamp() + interval '1 minute'")
	if n, next := o.due(); n != 0 || next < 50*time.Second || next > time.Minute {
		t.Errorf("a ready row whose time is to come: %d, %s", n, next)
	}
}

func TestDue_FollowsWhatWasChangedByHand(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	freed := o.insert("type, held", "'cat', true")
	timed := o.insert("type, held, run_at", "'cat', true, clock_timestamp() + interval '1 hour'")
	atOnce := o.insert("type, run_at", "'cat', clock_timestamp() + interval '1 hour'")
	o.exec("update bellhop.jobqueue set held = false where held")
	o.exec("update bellhop.jobqueue set run_at = null where id = $1", int64(atOnce))
	if n, _ := o.due(); n != 3 {
		t.Errorf("%d rows followed, want 3", n)
	}
	o.want(freed, "state", "ready")
	o.want(timed, "state", "scheduled")
	o.want(atOnce, "state", "ready")
	if n, _ := o.due(); n != 0 {
		t.Errorf("%d rows the second time", n)
	}
}

func TestDue_FreesWhatGoneInstancesHold(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	mine := o.running()
	stray := o.running()
	// A claim that was under way in the very moment of the burial.
	dead := o.register("dead", time.Minute)
	if _, _, err := o.registry.Bury(t.Context(), dead, "dead", true); err != nil {
		t.Fatal(err)
	}
	o.exec("update bellhop.jobqueue set instance = $1 where id = $2", int64(dead), int64(stray.Claim.Job))
	if n, _ := o.due(); n != 1 {
		t.Errorf("%d freed, want one", n)
	}
	o.want(mine.Claim.Job, "state", "running")
	o.want(stray.Claim.Job, "format('%s %s %s %s', state, attempt, fence, instance is null)", "ready 0 1 t")
}

func TestMarkWaiting_SaysWhy(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	known, unknown := o.insert("type", "'cat'"), o.insert("type", "'catt'")
	mark := func() []scheduler.TypeName {
		types, _, err := o.keeper.MarkWaiting(t.Context(), o.me)
		if err != nil {
			t.Fatal(err)
		}
		return types
	}
	if types := mark(); len(types) != 1 || types[0] != "catt" {
		t.Errorf("unknown types: %v", types)
	}
	o.want(unknown, "waiting_for", "unknown_type")
	o.want(known, "waiting_for", "")
	if err := o.registry.Trouble(t.Context(), o.me, "cat", map[string]scheduler.Account{"local": {Reason: "no such file"}}); err != nil {
		t.Fatal(err)
	}
	mark()
	o.want(known, "waiting_for", "agent_fails: local: no such file")
	second := o.register("second", time.Hour) // where all is well
	mark()
	o.want(known, "waiting_for", "")
	for _, id := range []scheduler.InstanceID{o.me, second} {
		if _, _, err := o.registry.Bury(t.Context(), id, "dead", true); err != nil {
			t.Fatal(err)
		}
	}
	mark()
	o.want(known, "waiting_for", "no_instance")
}

// Jobs say which host they wait for, when nobody else could run them.
func TestMarkWaiting_NamesTheHostThatIsDown(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec("insert into bellhop.host (instance, name, slots, serves, state) values ($1, 'far', 4, '{srv:7}', 'connecting')", int64(o.me))
	free, here, there, shelf := o.insert("type", "'cat'"), o.insert("type, run_on", "'cat', 'local'"),
		o.insert("type, run_on", "'cat', 'far'"), o.insert("type, run_on", "'cat', 'srv:7'")
	state := func(host scheduler.HostName, state scheduler.HostState, words string) {
		t.Helper()
		if err := o.registry.HostState(t.Context(), o.me, host, state, words); err != nil {
			t.Fatal(err)
		}
		if _, _, err := o.keeper.MarkWaiting(t.Context(), o.me); err != nil {
			t.Fatal(err)
		}
	}
	const connecting, refused = "host_down: far: it is being connected to", "host_down: far: refused: no"
	state("far", scheduler.HostConnecting, "")
	o.want(there, "waiting_for", connecting)
	o.want(free, "waiting_for", "")
	state("far", scheduler.HostDown, "refused: no")
	o.want(there, "waiting_for", refused)
	o.want(shelf, "waiting_for", refused)
	o.want(free, "waiting_for", "")
	o.want(here, "waiting_for", "")
	before := o.one("select string_agg(xmin::text, ' ' order by id) from bellhop.jobqueue")
	state("far", scheduler.HostDown, "refused: no")
	if after := o.one("select string_agg(xmin::text, ' ' order by id) from bellhop.jobqueue"); after != before {
		t.Error("rows were written though nothing had changed")
	}
	state("local", scheduler.HostDown, "gone")
	o.want(here, "waiting_for", "host_down: local: gone")
	o.want(free, "waiting_for", refused+"; local: gone")
	second := o.register("second", time.Hour)
	o.exec("insert into bellhop.host (instance, name, slots, serves) values ($1, 'other', 4, '{srv:7}') on conflict do nothing", int64(second))
	state("far", scheduler.HostDown, "refused: no")
	o.want(shelf, "waiting_for", "")
	o.want(there, "waiting_for", refused)
	state("far", scheduler.HostUp, "")
	o.want(there, "waiting_for", "")
}

// What a round has made ready is told though a later statement of it fails:
// nothing else rings for it.
func TestDue_WhatWasMadeReadyIsToldBesideAnError(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.exec(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`)
	due := o.insert("type, run_at", "'cat', clock_timestamp() + interval '1 h'")
	o.insert("type, args, held", "'cat', 'poison', true")
	o.exec("set session_replication_role = replica") // so that the round finds what was changed by hand
	o.exec("update bellhop.jobqueue set held = false where args = 'poison'")
	o.exec("update bellhop.jobqueue set run_at = clock_timestamp() where id = $1", int64(due))
	o.exec(`create trigger refuse before update on bellhop.jobqueue for each row when (old.args = 'poison') execute function public.refuse()`)
	n, _, err := o.keeper.Due(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not this one") {
		t.Errorf("the statement that sees to what was changed by hand was to fail: %v", err)
	}
	if o.want(due, "state", "ready"); n != 1 {
		t.Errorf("%d are told to be ready", n)
	}
}
