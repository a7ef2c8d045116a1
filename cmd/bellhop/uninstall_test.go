package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// Bellhop goes from a database as a whole, with the triggers that it has put on other tables, and leaves their rows. It
// lists first what goes. While an instance is live, nothing goes.
func TestUninstall_RemovesWhatItListed(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.ok("migrate", "--compat", "fossology")
	s.sql(`create table public.image (id bigint primary key, path text, dispatch timestamptz);
		insert into public.image (id, path) values (1, 'a.png')`)
	s.ok("attach", "image", "--type", "a", "--pool", "1")
	s.id("a", "x")
	s.sql(`select bellhop.watch_table('w', null, '{"table": "public.image"}')`)
	has(t, s.ok("uninstall"), "jobs: 1, unfinished: 1", "bellhop_attached", "schema   fossology",
		"_insert on public.image", "trigger  bellhop_sensor_", "bellhop_operator", "bellhop uninstall --drop")
	s.ok("ls") // nothing was changed

	s.sql(`insert into bellhop.instance (name, hostname, machine, pid, process_start, version, lag)
		values ('here', 'h', 'm', 1, 'then', 'v', '10 s')`)
	has(t, s.ok("uninstall"), "live instances, to be stopped first: here")
	s.fails(cli.ExitState, "instances are live: here", "uninstall", "--drop")
	s.sql("update bellhop.instance set heartbeat_at = now() - interval '1 min'") // it died, and no other has noticed
	// Databases of other tests need the roles.
	has(t, s.ok("uninstall", "--drop"), "removed", "bellhop_operator", "kept: another database")
	s.fails(cli.ExitSchema, "bellhop migrate", "ls")
	s.fails(cli.ExitSchema, "there is no bellhop in database", "uninstall", "--drop")
	s.sql("insert into public.image (id, path) values (2, 'b.png')") // no trigger is left
	// A schema of another's is left alone, whatever its name.
	s.sql("create schema fossology; create view fossology.report as select 1 as one")
	s.fails(cli.ExitSchema, "there is no bellhop in database", "uninstall", "--drop")
	s.sql("drop schema fossology cascade") // it was left
	s.ok("migrate")
	s.ok("ls")
}

// A login that does not own the schema removes nothing.
func TestUninstall_IsTheOwners(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	login := fmt.Sprintf("stranger_%d", os.Getpid())
	s.sql("create role " + login + " login")
	t.Cleanup(func() { _, _ = s.conn.Exec(context.Background(), "drop role "+login) })
	as := s.url + "&user=" + login
	const only = "the owner of schema bellhop, can remove it, and this login is "
	s.fails(cli.ExitDenied, only+login, "uninstall", "--database-url", as)
	s.sql("grant bellhop_operator to " + login)
	has(t, s.ok("uninstall", "--database-url", as), "jobs: 0")
	s.fails(cli.ExitDenied, only+login, "uninstall", "--drop", "--database-url", as)
	s.ok("ls")
}

// What is not bellhop's but uses it would go with the schemas. It is found however it hangs on them, and nothing is
// removed until it is gone, or is to go too.
func TestUninstall_TakesNothingOfYoursUnasked(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`create table public.image (id bigint primary key, path text, dispatch timestamptz, spare int)`)
	s.ok("attach", "image", "--type", "a", "--pool", "1")
	s.sql(`create function bellhop.theirs(n bigint) returns bigint language sql immutable as 'select n';
		create function bellhop.their_turn() returns trigger language plpgsql as 'begin return new; end';
		create type bellhop.their_type as enum ('a', 'b');
		create view public.first as select id, state from bellhop.job;
		create view public."a View" as select id from public.first;
		create materialized view public.third as select id from public."a View";
		create table public.note (id bigint default bellhop.theirs(1), job bigint, kind bellhop.their_type,
			twice bigint generated always as (bellhop.theirs(job)) stored);
		alter table public.note add constraint small check (bellhop.theirs(id) < 100),
			add constraint of_job foreign key (job) references bellhop.jobqueue;
		create policy see on public.note using (id in (select id from bellhop.jobqueue));
		create index on public.note (bellhop.theirs(id));
		create trigger mine before insert on public.note for each row execute function bellhop.their_turn();
		create trigger _900_bellhop_mine before insert on public.note for each row execute function bellhop.their_turn();
		create function public.waiting() returns bigint language sql begin atomic select count(*) from public.first; end;
		create domain public.place as bellhop.their_type;
		create table public.child () inherits (bellhop.jobqueue);
		create function public.text_only() returns bigint language sql as 'select count(*) from bellhop.job'`)
	want := []string{"check small on public.note", "column public.note.kind", "column public.note.twice",
		"default public.note.id", "foreign key of_job on public.note", "function public.waiting()",
		"index public.note_theirs_idx", "materialized view public.third", "policy see on public.note",
		"table public.child", "trigger _900_bellhop_mine on public.note", "trigger mine on public.note",
		"type public.place", "view public.\"a View\"", "view public.first"}
	var got []string
	for _, p := range objects(t, s.ok("uninstall", "-o", "json")) {
		if p["yours"] == true {
			got = append(got, fmt.Sprint(p["kind"], " ", p["name"]))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("of the user's it found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	has(t, s.ok("uninstall"), "your policy", "_insert on public.image", "bellhop uninstall --drop --cascade")

	r := s.fails(cli.ExitState, "use bellhop, and would go with it: "+strings.Join(want, ", ")+". Nothing was removed",
		"uninstall", "--drop")
	has(t, r.stderr, "bellhop uninstall --drop --cascade")
	s.fails(cli.ExitUsage, "--cascade goes with --drop", "uninstall", "--cascade")
	s.ok("ls") // nothing was removed
	s.sql("select * from public.third, public.waiting()")

	for i := range 10 {
		s.sql(fmt.Sprintf("create view public.z%d as select id from public.first", i))
	}
	s.fails(cli.ExitState, "view public.z4, and 5 more. Nothing", "uninstall", "--drop")
	has(t, s.ok("uninstall", "--drop", "--cascade"), "your policy", "removed")
	s.sql("insert into public.note (id, job) values (1000, 2)") // the table is left
	s.sql("insert into public.image (id) values (1)")
	s.sql("drop function public.text_only()") // PostgreSQL does not know what it uses
	s.fails(cli.ExitSchema, "bellhop migrate", "ls")
}

// What uses none of bellhop is not in the way, nor is what lies beside it.
func TestUninstall_LeavesTheRest(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql(`create table public.note (id bigint primary key default 1 check (id > 0));
		create view public.first as select id from public.note;
		create function public.counted() returns bigint language sql begin atomic select count(*) from public.first; end;
		create policy see on public.note using (public.counted() >= 0);
		create publication theirs_of_job for table bellhop.jobqueue, public.note`)
	if listed := s.ok("uninstall"); strings.Contains(listed, "your ") {
		t.Errorf("nothing of the user's uses bellhop:\n%s", listed)
	}
	has(t, s.ok("uninstall", "--drop"), "removed")
	s.sql("insert into public.note (id) values (public.counted() + 1)")
	s.sql("drop publication theirs_of_job")
}
