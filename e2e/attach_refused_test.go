package e2e

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// What cannot be meant is refused before anything is done, with what to do instead.
func TestAttach_WhatIsRefused(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql(`create table good (id integer primary key, dispatch timestamptz, note text, code integer, must date not null, short varchar(3), net inet, u integer unique, "Mixed" date)`)
	e.sql("create view a_view as select * from good")
	e.sql("create materialized view a_copy as select * from good")
	e.sql("create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing; create foreign table far (id integer, dispatch date) server nowhere")
	e.sql("create table no_key (id integer, dispatch date)")
	e.sql("create table done (id integer primary key, dispatch date)")
	e.ok("attach", "done", "--cmd", "true", "--pool", "1")
	cmd := []string{"--cmd", "true", "--pool", "2"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"good", "--cmd", "true"}, 2, "A pool has to be named"},
		{[]string{"good", "--cmd", "true", "--pool", "abc"}, 2, "abc"},
		{[]string{"good", "--cmd", "true", "--pool", "-1"}, 2, "out of range"},
		{[]string{"good", "--cmd", "true", "--pool", "4000000000"}, 2, "out of range"},
		{[]string{"good", "--cmd", "true", "--pool=99999"}, 2, "out of range"},
		{[]string{"good", "--pool", "2"}, 2, "what is to be run"},
		{[]string{"good", "--pool", "2", "--cmd", "true", "--type", "x"}, 2, "only one of"},
		{[]string{"good", "--pool", "2", "--cmd", ""}, 2, "names no program"},
		{[]string{"good", "--pool", "2", "--type", "command"}, 2, "cannot be jobs of type"},
		{[]string{"good", "--pool", "2", "--type", "attachment"}, 2, "cannot be jobs of type"},
		{[]string{"good", "--pool", "2", "--type", "x", "--log-dir", "logs"}, 2, "goes with a command"},
		{append([]string{}, cmd...), 2, "which table"},
		{append([]string{"nobody"}, cmd...), 3, `"nobody" does not exist`},
		{append([]string{"good; drop table good"}, cmd...), 3, "psql"},
		{append([]string{"good", "extra"}, "--pool", "1", "--type", "x"), 2, "arguments of --cmd"},
		{append([]string{"a_view"}, cmd...), 2, "Attach the table beneath it"},
		{append([]string{"a_copy"}, cmd...), 2, "Attach the table beneath it"},
		{append([]string{"far"}, cmd...), 2, "where the table itself is"},
		{append([]string{"bellhop.jobqueue"}, cmd...), 2, "not a table of yours"},
		{append([]string{"pg_catalog.pg_class"}, cmd...), 2, "not a table of yours"},
		{append([]string{"no_key"}, cmd...), 2, "has no primary key"},
		{append([]string{"no_key", "--key", "id"}, cmd...), 2, "does not tell the rows"},
		{append([]string{"good", "--key", "u"}, cmd...), 2, "NOT NULL on each"},
		{append([]string{"good", "--key", "nokey"}, cmd...), 2, "has no column nokey"},
		{append([]string{"good", "--dispatch", "nothing"}, cmd...), 2, "It has: id, dispatch, note"},
		{append([]string{"good", "--dispatch", "mixed"}, cmd...), 2, `"Mixed"`},
		{append([]string{"good", "--dispatch", "net"}, cmd...), 2, "cannot be one"},
		{append([]string{"good", "--dispatch", "short"}, cmd...), 2, "room for"},
		{append([]string{"good", "--dispatch", "must"}, cmd...), 2, "drop not null"},
		{append([]string{"good", "--dispatch", "id"}, cmd...), 2, "NOT NULL"},
		{append([]string{"good", "--status-col", "code"}, cmd...), 2, "text column"},
		{append([]string{"good", "--exit-col", "note"}, cmd...), 2, "integer column"},
		{append([]string{"good", "--dispatch", "note", "--status-col", "note"}, cmd...), 2, "one column cannot be two"},
		{[]string{"done", "--cmd", "false", "--pool", "1"}, 7, "command true, not false"},
		{[]string{"done", "--type", "x", "--pool", "1"}, 7, "type (a command), not x"},
		{append([]string{"good", "--name", "done"}, cmd...), 7, "already"},
	} {
		r := e.run(append([]string{"attach"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) || strings.Contains(r.stderr, "SQLSTATE") {
			t.Errorf("attach %q: exit code %d, want %d and %q:\n%s", c.args, r.code, c.code, c.want, r.stderr)
		}
	}
	if n := value[int](e, "select count(*) from bellhop.attachment") + value[int](e, "select count(*) from pg_trigger where tgrelid = 'good'::regclass"); n != 1 {
		t.Errorf("refusals have left something: %d", n)
	}
	if r := e.run("detach", "good"); r.code != 3 {
		t.Errorf("detach of nothing: %d %s", r.code, r.stderr)
	}
	has(t, e.ok("attach", "done", "--pool", "1"), "is unchanged")
	has(t, e.ok("attach", "done", "--pool=7"), "attachment")
	has(t, e.ok("attachments"), "7     0     0       -     id   dispatch  true")
}

// --dry-run prints the SQL and does nothing, and what it prints is all there is.
func TestAttach_DryRun(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.sql("create table jobs (id integer primary key, dispatch date)")
	has(t, e.ok("attach", "jobs", "--cmd", "true", "--pool", "1", "--index", "--dry-run"),
		"function bellhop_attached.turn_", "security definer", "create trigger _900_bellhop_", "referencing new table", "create index bellhop_")
	if n := value[int](e, "select (select count(*) from bellhop.attachment) + (select count(*) from pg_trigger where tgrelid = 'jobs'::regclass)"); n != 0 {
		t.Errorf("it did something: %d", n)
	}
}

// Commands that stand in the database are run only where the configuration says
// so, and only for rows: whoever submits a job of that type runs nothing.
func TestAttach_CommandsOfTheDatabase(t *testing.T) {
	t.Parallel()
	e := setup(t)
	deaf := e.serve("")
	e.sql("create table jobs (id integer primary key, dispatch date)")
	e.ok("attach", "jobs", "--shell", `echo "$1" >> `+filepath.Join(e.dir, "done"), "--pool", "4")
	e.sql("insert into jobs values (1)")
	e.eventually("the row is taken", "select count(*) = 1 from bellhop.jobqueue")
	has(t, e.ok("explain", "jobs/1"), "unknown_type", "commands_from_database: true")
	id := e.insert("type, args, vars", "attachment", "touch x", `{"command": "touch x"}`)
	deaf.stop()
	e.serve(obeys)
	e.ran("jobs", "dispatch")
	if got := e.lines("done"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("it ran %q", got)
	}
	has(t, e.waitState(id, "failed").Error, "no_attachment")
	if r := e.run("config", "check", "-c", e.file("bad.yaml", "agents:\n  - {type: attachment, command: [true]}\n",
		0o600)); r.code == 0 {
		t.Error("an agent may take the type's name")
	}
}

// What runs in a user's table runs with the rights of whoever attached it, and
// rights that are lost are told of, and do no harm to others.
func TestAttach_RightsAreThoseOfWhoeverAttached(t *testing.T) {
	t.Parallel()
	e := setup(t)
	role := fmt.Sprintf("attach_%x", value[int64](e, "select oid::bigint from pg_database where datname = current_database()"))
	e.sql(fmt.Sprintf("create role %s login password 'x'; grant bellhop_operator to %[1]s; create schema mine authorization %[1]s", role))
	t.Cleanup(func() { e.pool.Exec(t.Context(), "drop owned by "+role) })
	as := func(text string) {
		t.Helper()
		e.sql(fmt.Sprintf("begin; set local role %s; set local search_path = mine; %s; commit", role, text))
	}
	e.sql("create table theirs (id integer primary key, dispatch date)")
	for refused, want := range map[string]string{
		"select bellhop.attach('public.theirs', type => 'x', pool => 1)":                              "lacks SELECT and UPDATE and TRIGGER",
		"update bellhop.attachment set rel = 'public.theirs', dispatch_column = 2":                    "permission denied",
		"create function bellhop.evil() returns int language sql as 'select 1'":                       "permission denied",
		"select bellhop.take_attached(1)":                                                             "permission denied",
		"insert into bellhop.attached (attachment, digest, key, job, live) select 1, '', '', 1, true": "permission denied",
	} {
		e.sql("create schema if not exists public; alter table theirs set schema public")
		_, err := e.pool.Exec(t.Context(), fmt.Sprintf("begin; set local role %s; %s; commit", role, refused))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", refused, err, want)
		}
		e.pool.Reset()
	}
	// A trigger of the table's that would like to be more than its owner.
	as(`create table jobs (id integer primary key, dispatch date);
		create table seen (who text, tried text);
		create function look() returns trigger language plpgsql as $$
		declare tried text := 'no';
		begin
		  begin execute 'set role ' || session_user; tried := current_user; exception when others then tried := sqlstate; end;
		  insert into seen values (current_user, tried);
		  return null;
		end $$;
		create trigger look after update on jobs for each row execute function look();
		select bellhop.attach('jobs', cmd => '{true}', pool => 1)`)
	e.serve(obeys)
	e.sql("insert into mine.jobs values (1)")
	e.ran("mine.jobs", "dispatch")
	if got := column[string](e, "select who || ' ' || tried from mine.seen"); !slices.Equal(got,
		[]string{role + " 42501"}) {
		t.Errorf("the trigger ran as %q, want %s alone", got, role)
	}
	broken := func(want string) {
		t.Helper()
		pgtest.Eventually(t, patience, "it is broken: "+want,
			func() bool { return strings.Contains(e.ok("attachments"), want) })
	}
	e.sql("alter table mine.jobs owner to current_user")
	e.sql("insert into mine.jobs values (2)")
	broken("permission denied")
	e.sql("grant select, update on mine.jobs to " + role + "; alter table mine.jobs enable row level security; create policy some_rows on mine.jobs using (id > 100)")
	broken("row-level security")
	e.sql("alter table mine.jobs disable row level security")
	e.ran("mine.jobs", "dispatch")
	if state := value[string](e, "select state || coalesce(trouble, '') from bellhop.attachment"); state != "ok" {
		t.Errorf("it is mended, and %s", state)
	}
}

// A scheduler that may do nothing in users' tables runs their rows all the same,
// since whoever attached them may.
func TestAttach_ASchedulerOfFewRights(t *testing.T) {
	t.Parallel()
	e := setup(t)
	role := fmt.Sprintf("few_%x",
		value[int64](e, "select oid::bigint from pg_database where datname = current_database()"))
	e.sql(fmt.Sprintf(
		"create role %[1]s_s login password 'x' in role bellhop_scheduler; create role %[1]s_o login password 'x' in role bellhop_operator; create schema mine authorization %[1]s_o",
		role))
	login := func(who string) string {
		u, err := url.Parse(e.url)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(role+who, "x")
		return u.String()
	}
	operator := on(t, login("_o"))
	t.Cleanup(operator.pool.Reset)
	operator.sql("create table mine.jobs (id integer primary key, dispatch date, outcome text)")
	operator.ok("attach", "mine.jobs", "--cmd", "true", "--pool", "2", "--status-col", "outcome", "--index")
	e.serve(fmt.Sprintf("database: {url: %q}\n", login("_s")) + obeys)
	operator.sql("insert into mine.jobs values (1), (2)")
	e.ran("mine.jobs", "dispatch")
	if n := value[int](e, "select count(*) from mine.jobs where outcome = 'succeeded'"); n != 2 {
		t.Errorf("%d outcomes: %s", n, e.ok("attachments"))
	}
	has(t, operator.ok("attachments"), "mine.jobs", "ok", "true")
	operator.rowBecause("mine.jobs", "1", "row_ran")
	operator.ok("detach", "mine.jobs")
	operator.sql("drop table mine.jobs")
}
