package migrate_test

import (
	"fmt"
	"strings"
	"testing"
)

// hostile is a type of the attacker's: what makes it, what it is called, a value of it, and that value as text.
type hostile struct{ make, name, value, text string }

// hostiles are types whose code PostgreSQL calls by itself somewhere: in casts, CHECKs, operators and functions of
// ranges.
func hostiles(schema string) []hostile {
	s := schema + "."
	return []hostile{
		{"create type " + s + "mood as enum ('x', 'y')", s + "mood", "'x'", "x"},
		{"create type " + s + "pair as (a pg_catalog.int4, m " + s + "mood)", s + "pair", "'(1,x)'", "(1,x)"},
		{"create domain " + s + "small as pg_catalog.int4 check (" + s + "evil(value))", s + "small", "7", "7"},
		{"create domain " + s + "word as pg_catalog.text check (" + s + "evil(value))", s + "word", "'w'", "w"},
		{"create domain " + s + "moody as " + s + "mood check (" + s + "evil(value))", s + "moody", "'x'", "x"},
		{"create domain " + s + "list as pg_catalog._int4 check (" + s + "evil(value))", s + "list", "'{1,2}'", "[1, 2]"},
		{"create function " + s + "apart(" + s + "mood, " + s + "mood) returns pg_catalog.float8 immutable language plpgsql as $$ begin perform " + s +
			"evil(1); return 1; end $$; create type " + s + "span as range (subtype = " + s + "mood, subtype_diff = " + s + "apart)", s + "span", "'[x,y]'", "[x,y]"},
		{"", s + "mood[]", "'{x,y}'", "{x,y}"},
		{"", s + "small[]", "'{1,2}'", "[1, 2]"},
		{"", s + "pair[]", `'{"(1,x)"}'`, `{"(1,x)"}`},
		{"create domain " + s + "moods as " + s + "mood[] check (" + s + "evil(value))", s + "moods", "'{x}'", "{x}"},
	}
}

// forge makes the types in a schema, and casts and operators of each that PostgreSQL finds by itself.
func (a *attacker) forge(schema string) []hostile {
	_ = a.try("create function " + schema + `.evil(v pg_catalog.anyelement) returns pg_catalog.bool language plpgsql as $$ begin
		if current_user <> session_user then raise warning 'BREACH as %', current_user; end if; return true; end $$`)
	_ = a.try("grant execute on function " + schema + ".evil to public")
	types := hostiles(schema)
	for i, h := range types {
		if h.make != "" {
			if err := a.try(h.make); err != nil {
				a.t.Fatal(err)
			}
		}
		for j, target := range []string{"json", "jsonb", "text", "varchar", "name", "oid", "int4", "int8", "bool", "numeric", "timestamptz", "regtype", "regclass", "_text"} {
			_ = a.try(fmt.Sprintf(`create function %s.f%d_%d(%s) returns pg_catalog.%s language plpgsql as $$ begin perform %[1]s.evil(1); return null; end $$;
				create cast (%[4]s as pg_catalog.%[5]s) with function %[1]s.f%[2]d_%[3]d(%[4]s) as implicit`, schema, i, j, h.name, target))
		}
		for _, op := range []string{"=", "<>", "||", "->>", "~"} {
			_ = a.try(fmt.Sprintf(`create function %s.o%d(%s, pg_catalog.text) returns pg_catalog.bool language plpgsql as $$ begin perform %[1]s.evil(1); return true; end $$`,
				schema, i, h.name))
			_ = a.try(fmt.Sprintf("create operator %[1]s.%[2]s (leftarg = %[3]s, rightarg = pg_catalog.text, function = %[1]s.o%[4]d)", schema, op, h.name, i))
		}
	}
	return types
}

func (a *attacker) quiet() {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range a.heard {
		if strings.Contains(text, breach) {
			a.t.Errorf("its code ran with another's rights: %s", text)
		}
	}
	a.heard = nil
}

// Rows are given to the trigger that submitters may have on tables of theirs: of each type, as the key and as a
// parameter, in each kind of table. Each is an event, and its values arrive in the text form that the type has.
func TestAttack_NoTypeOfARowIsRunByTheTriggerThatReadsIt(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	exec(t, admin, `select bellhop.workflow_apply('{"workflow":"w","parameters":{"m":""},"steps":[{"name":"a","type":"cat"}]}')`)
	a := newAttacker(t, admin, url, "bellhop_submitter")
	a.mayMake(admin, "public")
	n := 0
	insert := func(table, makes string, h hostile) {
		t.Helper()
		n++
		for _, text := range []string{makes, "insert into " + table + " values (" + fmt.Sprint(n) + ", " + h.value + ")"} {
			if err := a.try(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		a.quiet()
		got := one[string](t, admin, "select coalesce((select parameters ->> 'm' from bellhop.event where event like '%=' || $1), '(none)')", fmt.Sprint(n))
		if got != h.text {
			t.Errorf("%s: its parameter is %q, not %q", makes, got, h.text)
		}
		// As the name of the event, and of a workflow that is not there.
		for i, trigger := range []string{"'w', 'm'", "'nosuch', 'id', 'm', 'm'"} {
			_ = a.try(fmt.Sprintf("create trigger z%d after insert on %s for each row execute function bellhop.row_event(%s)", i, table, trigger))
		}
		if err := a.try(fmt.Sprintf("insert into %s values (0, %s)", table, h.value)); err != nil {
			t.Errorf("%s: %v", makes, err)
		}
		a.quiet()
	}
	for _, schema := range []string{"public", "pg_temp"} {
		for i, h := range a.forge(schema) {
			event := "for each row execute function bellhop.row_event('w', 'id', 'm')"
			name := fmt.Sprintf("%s.t%d", schema, i)
			insert(name, fmt.Sprintf("create table %s (id pg_catalog.int4, m %s); create trigger e after insert on %[1]s %[3]s", name, h.name, event), h)
			name += "_parts"
			insert(name, fmt.Sprintf(`create table %s (id pg_catalog.int4, m %s) partition by list (id);
				create table %[1]s_one (m %[2]s, id pg_catalog.int4); alter table %[1]s attach partition %[1]s_one default;
				create trigger e after insert on %[1]s %[3]s`, name, h.name, event), h)
			name = fmt.Sprintf("%s.v%d", schema, i)
			insert(name, fmt.Sprintf(`create view %s as select * from %s.t%d; create trigger e instead of insert on %[1]s %[4]s`, name, schema, i, event), h)
		}
	}
	_ = a.try("create table public.all_kinds (id pg_catalog.int4, m public.mood, g pg_catalog.text generated always as (id::pg_catalog.text) stored)")
	for _, fires := range []string{"after insert or update", "before insert", "after delete", "after truncate"} {
		level := "for each row"
		if strings.Contains(fires, "truncate") {
			level = "for each statement"
		}
		_ = a.try(fmt.Sprintf(`create or replace trigger k %s on public.all_kinds %s execute function bellhop.row_event('w', 'id', 'm', 'g')`, fires, level))
		for _, text := range []string{"insert into public.all_kinds values (1, 'x')", "update public.all_kinds set m = 'y'", "delete from public.all_kinds", "truncate public.all_kinds"} {
			if err := a.try(text); err != nil {
				t.Errorf("%s, %s: %v", fires, text, err)
			}
		}
	}
	a.quiet()
}

// A transition table may be called like a catalog, or like a table of bellhop's, and its columns are of any type.
func TestAttack_NoTransitionTableStandsInForACatalog(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	a := newAttacker(t, admin, url, "bellhop_submitter")
	a.mayMake(admin, "public")
	a.forge("public")
	tables := one[[]string](t, admin, `select array_agg(format('%s: %s', c.relname,
		(select string_agg(format(', %I public.mood', a.attname), '') from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)) order by c.relname)
		from pg_class c where c.relkind in ('r', 'v') and (c.relnamespace = 'bellhop'::regnamespace
		   or c.relnamespace = 'pg_catalog'::regnamespace and c.relname in ('pg_attribute', 'pg_type', 'pg_class', 'pg_namespace', 'pg_roles', 'pg_trigger', 'pg_settings'))`)
	for i, table := range tables {
		name, columns, _ := strings.Cut(table, ": ")
		if err := a.try(fmt.Sprintf(`create table public.n%[1]d ("the key" pg_catalog.int4%[2]s);
			create trigger e after insert on public.n%[1]d referencing new table as %[3]q for each row execute function bellhop.row_event('w', 'the key')`, i, columns, name)); err != nil {
			t.Fatal(err)
		}
		if err := a.try(fmt.Sprintf(`insert into public.n%d ("the key") values (1)`, i)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(tables) < 30 {
		t.Errorf("only %d names", len(tables))
	}
	a.quiet()
}

// Who owns a table that a sensor watches, and has no role of bellhop's, alters it as he likes.
func TestAttack_AWatchedTablesOwnerGainsNothing(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	exec(t, admin, "create schema shop; create table shop.uploads (id int primary key, m text, path text)")
	exec(t, admin, `select bellhop.workflow_apply('{"workflow":"w","sensor":{"table":"shop.uploads"},"parameters":{"M":"","path":""},"steps":[{"name":"a","type":"cat"}]}')`)
	a := newAttacker(t, admin, url, "pg_monitor")
	me := a.conn.Config().User
	a.mayMake(admin, "shop")
	exec(t, admin, "alter table shop.uploads owner to "+me)
	before := world(t, admin, me, false)
	types := a.forge("shop")
	n := 0
	tell := func(want string, texts ...string) {
		t.Helper()
		n++
		for _, text := range append(texts, fmt.Sprintf("insert into shop.uploads (id, path) values (%d, 'p')", n)) {
			if err := a.try(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		a.quiet()
		got := one[string](t, admin, "select coalesce((select parameters::text from bellhop.event where event = 'shop.uploads=' || $1), '(none)')", fmt.Sprint(n))
		if got != want {
			t.Errorf("after %q: its parameters are %s, not %s", texts, got, want)
		}
	}
	tell(`{"path": "p"}`)
	for _, h := range types {
		if strings.HasSuffix(h.name, ".pair[]") {
			continue // its text has quotes: the test of the other trigger has it
		}
		tell(fmt.Sprintf(`{"M": "%s", "path": "p"}`, h.text), "alter table shop.uploads drop m", fmt.Sprintf("alter table shop.uploads add m %s default %s", h.name, h.value),
			fmt.Sprintf("alter table shop.uploads drop column if exists other, add other %s default %s", h.name, h.value))
	}
	tell(`{"M": "x", "path": "p"}`, "alter table shop.uploads drop m, add m shop.mood default 'x'", "alter table shop.uploads rename other to bystander")
	tell(`{"M": "x", "path": "p"}`, "alter table shop.uploads alter path type shop.word")
	tell("(none)", "create function shop.none() returns trigger language plpgsql as 'begin new.id := null; return new; end'",
		"alter table shop.uploads drop constraint uploads_pkey", "alter table shop.uploads alter id drop not null",
		"create trigger a before insert on shop.uploads for each row execute function shop.none()")
	for _, text := range []string{"drop trigger a on shop.uploads", "alter table shop.uploads alter id type shop.mood using 'y'",
		"insert into shop.uploads (id, path) values ('x', 'p')", "alter table shop.uploads rename id to was", "insert into shop.uploads (was, path) values ('x', 'p')"} {
		if err := a.try(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	a.quiet()
	if after := world(t, admin, me, false); after != before {
		t.Errorf("what must not change has changed: %s", changed(before, after))
	}
}

// A transaction whose snapshot is older than an ALTER TABLE sees the catalogs as they were, and the row as it is.
func TestAttack_AnOldSnapshotDoesNotHideAType(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	exec(t, admin, "create table public.uploads (id int primary key, path text)")
	exec(t, admin, `select bellhop.workflow_apply('{"workflow":"w","sensor":{"table":"public.uploads"},"parameters":{"path":""},"steps":[{"name":"a","type":"cat"}]}')`)
	exec(t, admin, `select bellhop.workflow_apply('{"workflow":"v","parameters":{"path":""},"steps":[{"name":"a","type":"cat"}]}')`)
	a := newAttacker(t, admin, url, "bellhop_submitter")
	me := a.conn.Config().User
	a.mayMake(admin, "public")
	exec(t, admin, "alter table public.uploads owner to "+me)
	other := connect(t, url)
	exec(t, other, "set role "+me)
	if err := a.try("create trigger own after insert on public.uploads for each row execute function bellhop.row_event('v', 'id', 'path')"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ alter, want string }{
		{"alter table public.uploads alter path type public.mood using 'y'", "x"},
		{"alter table public.uploads drop path, add path public.mood", "x"},
		{"alter table public.uploads rename path to gone; alter table public.uploads add path public.mood", "x"},
	} {
		_ = a.try("begin isolation level repeatable read")
		_ = a.try("select 1 from pg_catalog.pg_class limit 1")
		if one[bool](t, other, "select pg_catalog.to_regtype('public.mood') is null") {
			exec(t, other, `create function public.evil() returns pg_catalog.json language plpgsql as $$ begin
				if current_user <> session_user then raise warning 'BREACH as %', current_user; end if; return '1'; end $$`)
			exec(t, other, `create type public.mood as enum ('x', 'y'); create function public.m(public.mood) returns pg_catalog.json language sql as 'select public.evil()';
				create cast (public.mood as pg_catalog.json) with function public.m(public.mood)`)
		}
		exec(t, other, c.alter)
		n := one[int](t, admin, "select coalesce(max(id), 0) + 1 from public.uploads")
		for _, text := range []string{fmt.Sprintf("insert into public.uploads (id, path) values (%d, 'x')", n), "commit"} {
			if err := a.try(text); err != nil {
				t.Errorf("%s: %v", c.alter, err)
			}
		}
		a.quiet()
		for _, workflow := range []string{"v", "w"} {
			got := one[string](t, admin, "select coalesce((select parameters ->> 'path' from bellhop.event where workflow = $1 and event = 'public.uploads=' || $2), '(none)')", workflow, fmt.Sprint(n))
			if got != c.want {
				t.Errorf("after %s: %s is told %q, not %q", c.alter, workflow, got, c.want)
			}
		}
	}
}

// The name under which an order is kept is the login's, whatever that says of itself. A login that schedules
// speaks for others.
func TestAttack_NobodyGivesOrdersInAnothersName(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	exec(t, admin, "insert into bellhop.jobqueue (type) values ('a')")
	const order = `begin; set local role bellhop_operator; set local bellhop.actor = 'boss';
		select bellhop.operation_start(bellhop.operation_plan('cancel', '{"type": ["a"]}', null)); commit`
	for _, c := range []struct{ role, want string }{{"bellhop_operator", ""}, {"bellhop_scheduler", "boss"}} {
		a := newAttacker(t, admin, url, c.role)
		if c.want == "" {
			c.want = a.conn.Config().User
		}
		if err := a.try(order); err != nil {
			t.Fatal(err)
		}
		if got := one[string](t, admin, "select actor from bellhop.operation order by id desc limit 1"); got != c.want {
			t.Errorf("%s orders as %s, not as %s", c.role, got, c.want)
		}
	}
}

// A row of bellhop.attachment names no table on which its author has no rights.
func TestAttack_NoAttachmentOfATableOfOthers(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	exec(t, admin, "create table public.prey (id int primary key, dispatch date)")
	a := newAttacker(t, admin, url, "bellhop_operator")
	a.mayMake(admin, "public")
	const forged = "insert into bellhop.attachment (name, rel, type, pool, key_columns, dispatch_column) values ('prey', %s, 'x', 3, '{1}', 2)"
	for _, rel := range []string{"'public.prey'", "'pg_catalog.pg_authid'", "'bellhop.jobqueue'", "999999"} {
		if err := a.try(fmt.Sprintf(forged, rel)); err == nil || !strings.Contains(err.Error(), "lacks") {
			t.Errorf("%s: %v", rel, err)
		}
	}
	exec(t, admin, "grant select, update, trigger on public.prey to "+a.conn.Config().User)
	if err := a.try("select bellhop.attach('public.prey', 'x', pool => 3)"); err != nil {
		t.Error(err)
	}
	exec(t, admin, "drop table public.prey cascade")
}
