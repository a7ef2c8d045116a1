package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bellhop/pgdev/pgtest"
)

// member makes a login of the test's own that has roles, and gives its URL.
func (e *env) member(name, roles string) (role, url_ string) {
	e.t.Helper()
	role = fmt.Sprintf("%s_%x", name, value[int64](e, "select oid::bigint from pg_database where datname = current_database()"))
	e.sql(fmt.Sprintf("create role %s login password 'x'", role))
	if roles != "" {
		e.sql(fmt.Sprintf("grant %s to %s", roles, role))
	}
	u, err := url.Parse(e.url)
	if err != nil {
		e.t.Fatal(err)
	}
	u.User = url.UserPassword(role, "x")
	return role, u.String()
}

// grabs are functions that note who runs them, and try to write where the login
// of serve alone may: open.grab for triggers and rules, open.fixed for expressions.
const grabs = `
	create schema loot authorization %[1]s; create table loot.taken (how text, who text); alter table loot.taken owner to %[1]s;
	grant usage on schema loot to public;
	create schema open; grant all on schema open to public; create table open.seen (how text, who text, session text); grant all on open.seen to public;
	create function open.grab(how text) returns text language plpgsql volatile as $$
	declare way text;
	begin
	  insert into open.seen values (how, current_user, session_user);
	  foreach way in array array['select', 'reset role', 'set role %[1]s', 'set session authorization %[1]s', 'set local role %[1]s', 'reset session authorization'] loop
	    begin
	      execute way;
	      insert into loot.taken values (how || ': ' || way, current_user);
	    exception when others then null;
	    end;
	  end loop;
	  return how;
	end $$;
	create function open.fixed(how text) returns text language plpgsql immutable as $$ begin perform open.grab(how); return how; end $$;
	create function open.row() returns trigger language plpgsql as $$ begin perform open.grab(tg_argv[0]); return new; end $$;
	create function open.late() returns trigger language plpgsql as $$
	begin
	  perform open.grab(tg_argv[0]);
	  if tg_argv[0] = 'deferred' then -- and once more, when all of ours is over
	    set constraints all deferred;
	    update open.again set n = n + 1;
	  end if;
	  return null;
	end $$;
	create table open.again (n integer); insert into open.again values (1); grant all on open.again to public;
	create constraint trigger late after update on open.again deferrable initially deferred for each row execute function open.late('commit');
	grant execute on all functions in schema open to public`

// Whatever of others runs where a table is attached, does not run as the login of serve.
func TestAttach_StrangersGainNothing(t *testing.T) {
	t.Parallel()
	e := setup(t)
	serve, serveURL := e.member("serve", "bellhop_scheduler")
	owner, ownerURL := e.member("owner", "bellhop_operator")
	part, _ := e.member("part", "")
	e.sql(fmt.Sprintf(grabs, serve))
	e.sql(
		fmt.Sprintf("create schema mine authorization %s; grant all on schema mine to %s; grant %s to %s", owner, part, part,
			owner))
	o := on(t, ownerURL)
	t.Cleanup(o.pool.Reset)
	ways := map[string]string{
		"before":    "create trigger x before update on %s for each row execute function open.row('before')",
		"after":     "create trigger x after update on %s for each row execute function open.row('after')",
		"deferred":  "create constraint trigger x after update on %s deferrable initially deferred for each row execute function open.late('deferred')",
		"rule":      "create rule x as on update to %s do also select open.grab('rule')",
		"generated": "alter table %s add g text generated always as (open.fixed(case when dispatch is null then 'generated' else 'generated' end)) stored",
		"index":     "create index on %s (open.fixed('index'))",
		"checked":   "alter table %s add check (open.fixed('checked') is not null)",
		"replaced":  "",
		"policy":    "alter table %s force row level security; alter table %s enable row level security; create policy x on %s using (open.grab('policy') is not null)",
	}
	names := make([]string, 0, len(ways))
	for how, ddl := range ways {
		names = append(names, how)
		o.sql(fmt.Sprintf("create table mine.%s (id integer primary key, dispatch date)", how))
		o.ok("attach", "mine."+how, "--cmd", "true", "--pool", "3", "--name", how)
		if ddl != "" {
			o.sql(strings.ReplaceAll(ddl, "%s", "mine."+how))
		}
	}
	turn := func(how string) string {
		return value[string](e, "select 'bellhop_attached.' || coalesce(to_jsonb(a) ->> 'turn', 'turn_' || a.id) from bellhop.attachment a where name = $1", how)
	}
	o.sql(fmt.Sprintf(`create or replace function %s(done jsonb, n integer, busy text[]) returns table (what text, key text, line text, row_text text)
		language plpgsql volatile as $$ begin perform open.grab('replaced'); end $$`, turn("replaced")))
	o.sql(fmt.Sprintf(`create table mine.parts (id integer primary key, dispatch date) partition by list (id);
		create table mine.parts_1 partition of mine.parts for values in (1); alter table mine.parts_1 owner to %[1]s`, part))
	o.sql("create trigger x before update on mine.parts_1 for each row execute function open.row('partition')")
	o.ok("attach", "mine.parts", "--cmd", "true", "--pool", "3", "--name", "partition")
	for _, how := range names {
		o.sql(fmt.Sprintf("insert into mine.%s values (1)", how))
	}
	o.sql("insert into mine.parts values (1)")
	o.sql("delete from open.seen")
	e.serve(fmt.Sprintf("database: {url: %q}\n", serveURL) + obeys)
	runs := []string{"before", "after", "deferred", "rule", "generated", "index", "checked", "partition"}
	slices.Sort(runs)
	for _, how := range runs {
		if how == "rule" {
			continue // its row is set aside: PostgreSQL takes no such rule where a statement returns what it changed
		}
		e.eventually(how+" runs", "select exists (select from bellhop.jobqueue where key = $1 and state = 'succeeded')", how+"/1")
	}
	if loot := column[string](e, "select how || ' as ' || who from loot.taken order by 1"); len(loot) > 0 {
		t.Errorf("strangers wrote as the login of serve:\n%s", strings.Join(loot, "\n"))
	}
	for _, how := range append(runs, "commit") {
		if how != "rule" && !value[bool](e, "select exists (select from open.seen where how = $1)", how) {
			t.Errorf("%s has not run at all: the test proves nothing", how)
		}
	}
	if who := column[string](e, "select distinct session from open.seen"); slices.Contains(who, serve) || len(who) == 0 {
		t.Errorf("strangers' code ran in sessions of %q", who)
	}
	if who := column[string](e, "select distinct who from open.seen where how <> 'commit'"); !slices.Equal(who,
		[]string{owner}) {
		t.Errorf("strangers' code ran as %q", who)
	}
	for how, want := range map[string]string{"replaced": "was altered", "policy": "row-level security", "rule": "WITH"} {
		pgtest.Eventually(t, patience, how+" is told of", func() bool {
			return strings.Contains(e.ok("attachments", "-o", "json")+e.ok("explain", how, "1"), want)
		})
	}
}

// Nothing of what one turn leaves in the session is there at the next.
func TestAttach_NothingIsLeftInTheSession(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, first := e.member("first", "bellhop_operator")
	_, second := e.member("second", "bellhop_operator")
	_, serveURL := e.member("serve", "bellhop_scheduler")
	e.sql(`create schema shared; grant all on schema shared to public; create table shared.found (what text); grant all on shared.found to public`)
	one, two := on(t, first), on(t, second)
	t.Cleanup(one.pool.Reset)
	t.Cleanup(two.pool.Reset)
	one.sql(`create table shared.one (id integer primary key, dispatch date);
		create function shared.leave() returns trigger language plpgsql as $$
		begin
		  create temporary table jobqueue (id integer); create temporary table left_behind (id integer);
		  execute 'prepare left_behind as select 1';
		  perform set_config('left.behind', 'yes', false), set_config('statement_timeout', '1', false), set_config('default_transaction_read_only', 'on', false),
		    set_config('search_path', 'pg_temp, shared', false), set_config('TimeZone', 'Asia/Tokyo', false);
		  perform pg_advisory_lock(4711);
		  execute 'listen left_behind';
		  execute 'declare left_behind cursor with hold for select 1';
		  return new;
		exception when others then insert into shared.found values ('first: ' || sqlerrm); return new;
		end $$;
		create trigger leave before update on shared.one for each row execute function shared.leave()`)
	two.sql(`create table shared.two (id integer primary key, dispatch date);
		create function shared.look() returns trigger language plpgsql as $$
		begin
		  insert into shared.found select 'temp table' where to_regclass('pg_temp.left_behind') is not null
		    union all select name from pg_prepared_statements where name = 'left_behind' union all select name from pg_cursors where name = 'left_behind'
		    union all select 'listens' from pg_listening_channels() union all select 'lock' from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid = 4711
		    union all select 'setting' where current_setting('left.behind', true) = 'yes' or current_setting('statement_timeout') = '1ms'
		    union all select 'zone' where current_setting('TimeZone') <> 'UTC'
		    union all select 'saw it';
		  return new;
		end $$;
		create trigger look before update on shared.two for each row execute function shared.look()`)
	one.ok("attach", "shared.one", "--cmd", "true", "--pool", "1")
	two.ok("attach", "shared.two", "--cmd", "true", "--pool", "1")
	one.sql("insert into shared.one values (1), (2)")
	two.sql("insert into shared.two values (1), (2)")
	e.serve(fmt.Sprintf("database: {url: %q}\n", serveURL) + obeys)
	e.ran("shared.one", "dispatch")
	e.ran("shared.two", "dispatch")
	if got := column[string](e, "select distinct what from shared.found order by 1"); !slices.Equal(got,
		[]string{"saw it"}) {
		t.Errorf("left in the session: %q", got)
	}
}

// What operators may do by hand keeps no other table from being attached or run.
func TestAttach_ByHandNothingIsGained(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, rogueURL := e.member("rogue", "bellhop_operator")
	_, serveURL := e.member("serve", "bellhop_scheduler")
	rogue := on(t, rogueURL)
	t.Cleanup(rogue.pool.Reset)
	for n := range 40 {
		rogue.sql(fmt.Sprintf(`create function bellhop_attached.turn_%d(done jsonb, n integer, busy text[]) returns table (what text, key text, line text, row_text text)
			language sql as $$ select 'take', 'x', 'x', 'x' $$`, n+1))
	}
	e.sql("create table good (id integer primary key, dispatch date); create table prey (id integer primary key, dispatch date); insert into good values (1); insert into prey values (1)")
	const forged = "insert into bellhop.attachment (name, rel, type, pool, key_columns, dispatch_column) values ('prey', 'public.prey', 'x', 3, '{1}', 2)"
	if _, err := rogue.pool.Exec(t.Context(), forged); err == nil || !strings.Contains(err.Error(), " lacks SELECT and UPDATE and TRIGGER on table") {
		t.Errorf("a table of others attached by hand: %v", err)
	}
	e.sql(forged) // as one from before that was refused
	e.ok("attach", "good", "--cmd", "true", "--pool", "1")
	e.serve(fmt.Sprintf("database: {url: %q}\n", serveURL) + obeys)
	e.ran("good", "dispatch")
	pgtest.Eventually(t, patience, "it is told of", func() bool { return strings.Contains(e.ok("attachments"), "it has no function") })
	e.rowBecause("prey", "1", "attachment_broken", "it has no function")
	if n := value[int](e, "select count(*) from prey where dispatch is null"); n != 1 || value[int](e, "select count(*) from bellhop.jobqueue where key like 'prey%'") > 0 {
		t.Error("a row ran of a table that nothing has attached")
	}
}

// Where the server lets in no login for turns, only those tables are run whose
// code could do by itself all that the scheduler can; the others say what is missing.
func TestAttach_WithoutALoginForTurns(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Cluster(t)
	e := on(t, cluster.TCPURL())
	e.ok("migrate")
	_, operator := e.member("op", "bellhop_operator")
	o := on(t, operator)
	e.sql("create table ours (id integer primary key, dispatch date); create schema mine; grant all on schema mine to public")
	o.sql("create table mine.theirs (id integer primary key, dispatch date)")
	e.ok("attach", "ours", "--cmd", "true", "--pool", "1")
	o.ok("attach", "mine.theirs", "--cmd", "true", "--pool", "1")
	first := e.serve(obeys)
	e.sql("insert into ours values (1); insert into mine.theirs values (1)")
	e.eventually("ours runs", "select exists (select from bellhop.jobqueue where key = 'ours/1' and state = 'succeeded')")
	pgtest.Eventually(t, patience, "theirs says why it does not",
		func() bool { return strings.Contains(e.ok("attachments"), "attach_url") })
	e.rowBecause("mine.theirs", "1", "attachment_broken", "attach_url")
	has(t, e.run("doctor").stdout, "these wait for one: mine.theirs", `\password bellhop_attach`)
	if n := value[int](e, "select count(*) from mine.theirs where dispatch is null"); n != 1 {
		t.Error("it ran")
	}
	first.stop()
	e.sql("alter role bellhop_attach password 'y'")
	u, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("bellhop_attach", "y")
	e.serve(fmt.Sprintf("database: {url: %q, attach_url: %q}\n", e.url, u) + obeys)
	e.ran("mine.theirs", "dispatch")
	// A login that may more is no better than the scheduler's.
	e.sql("grant bellhop_scheduler to bellhop_attach")
	o.sql("insert into mine.theirs values (2)")
	pgtest.Eventually(t, patience, "theirs says so", func() bool { return strings.Contains(e.ok("attachments"), "bellhop_attach, which may do more") })
	e.sql("revoke bellhop_scheduler from bellhop_attach")
	e.ran("mine.theirs", "dispatch")
}

// A turn whose session is ended from inside holds up no other table.
func TestAttach_ASessionThatIsEndedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	e := setup(t)
	_, serveURL := e.member("serve", "bellhop_scheduler")
	e.sql(`create table first (id integer primary key, dispatch date); create table second (id integer primary key, dispatch date);
		create table again (n integer); insert into again values (1); grant all on again to public;
		create function ends() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
		create constraint trigger ends after update on again deferrable initially deferred for each row execute function ends();
		create function later() returns trigger language plpgsql as $$
		begin
		  set constraints all deferred;
		  update again set n = n + 1;
		  return null;
		end $$;
		create constraint trigger later after update on first deferrable initially deferred for each row execute function later()`,
	)
	e.ok("attach", "first", "--cmd", "true", "--pool", "1")
	e.ok("attach", "second", "--cmd", "true", "--pool", "1")
	e.sql("insert into first values (1)")
	e.serve(fmt.Sprintf("database: {url: %q}\n", serveURL) + obeys)
	pgtest.Eventually(t, patience, "it is told of", func() bool { return strings.Contains(e.ok("attachments"), "the session of its turn was lost") })
	e.sql("insert into second values (1)")
	e.ran("second", "dispatch")
}
