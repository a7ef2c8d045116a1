package migrate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// attacker is a login that tries what it can.
type attacker struct {
	t     *testing.T
	role  string
	conn  *pgx.Conn
	mu    sync.Mutex
	heard []string // everything that it was told: values, errors, notices
}

// breach is what the attacker's own code says when it runs with the rights of somebody else.
const breach = "BREACH"

// theirSecret is in what is not an attacker's business: arguments, variables and logs of another's jobs.
const theirSecret = "CANARY"

func newAttacker(t *testing.T, admin *pgx.Conn, url, role string) *attacker {
	a := &attacker{t: t, role: role}
	config := login(t, admin, url, role).Config().Copy()
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { a.hear(n.Message) }
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	a.conn = conn
	return a
}

func (a *attacker) hear(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, text)
}

// try runs a statement, whatever comes of it, and keeps all that is said.
func (a *attacker) try(text string) error {
	rows, err := a.conn.Query(a.t.Context(), text, pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		for rows.Next() {
			for _, v := range rows.RawValues() {
				a.hear(text + " gave " + string(v))
			}
		}
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		a.hear(text + ": " + err.Error())
		var refused *pgconn.PgError
		if e, ok := err.(*pgconn.PgError); ok {
			refused = e
			a.hear(refused.Detail + " " + refused.Hint + " " + refused.Where)
		}
	}
	return err
}

// mayMake lets the attacker make things in a schema, until the test is over.
func (a *attacker) mayMake(admin *pgx.Conn, schema string) {
	me := pgx.Identifier{a.conn.Config().User}.Sanitize()
	exec(a.t, admin, "grant usage, create on schema "+schema+" to "+me)
	a.t.Cleanup(func() {
		conn, err := pgx.ConnectConfig(context.Background(), admin.Config())
		if err == nil {
			_, err = conn.Exec(context.Background(), "drop owned by "+me+" cascade", pgx.QueryExecModeSimpleProtocol)
			_ = conn.Close(context.Background())
		}
		if err != nil {
			a.t.Error(err)
		}
	})
}

// arm makes whatever a login may make that bellhop's functions could take for PostgreSQL's own.
func (a *attacker) arm(admin *pgx.Conn) {
	a.mayMake(admin, "public")
	for _, text := range []string{
		`create function pg_temp.evil(v anyelement) returns pg_catalog.bool language plpgsql as $$ begin
		   if current_user <> session_user then raise warning 'BREACH as %', current_user; end if; return true; end $$`,
		`grant execute on function pg_temp.evil to public`,
		// Types: each of PostgreSQL's base types as a domain with a check.
		`do $$ declare n pg_catalog.name; begin
		   for n in select t.typname from pg_catalog.pg_type t where t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace and t.typtype = 'b' loop
		     begin
		       execute pg_catalog.format('create domain pg_temp.%I as pg_catalog.%I check (pg_temp.evil(value))', n, n);
		     exception when others then null;
		     end;
		   end loop; end $$`,
		// Tables: each catalog, and each table of bellhop's, as a view of its columns, one row of nulls.
		`do $$ declare c pg_catalog.regclass; n pg_catalog.name; cols pg_catalog.text; begin
		   for c, n in select x.oid, x.relname from pg_catalog.pg_class x where x.relkind in ('r', 'v')
		      and x.relnamespace in (select oid from pg_catalog.pg_namespace where nspname in ('pg_catalog', 'bellhop')) loop
		     begin
		       select pg_catalog.string_agg(pg_catalog.format('null::%s as %I', pg_catalog.format_type(a.atttypid, a.atttypmod), a.attname), ', ')
		         into cols from pg_catalog.pg_attribute a where a.attrelid = c and a.attnum > 0 and not a.attisdropped;
		       execute pg_catalog.format('create view pg_temp.%I as select %s where pg_temp.evil(1)', n, cols);
		     exception when others then null;
		     end;
		   end loop; end $$`,
	} {
		exec(a.t, a.conn, text)
	}
	// The catalog that says who is an operator, as the attacker would like it.
	_ = a.try("drop view pg_temp.pg_roles cascade")
	_ = a.try("create temp table pg_roles as select oid, 'bellhop_operator'::pg_catalog.name as rolname from pg_catalog.pg_roles where rolname = session_user")
	// Functions and operators, in pg_temp and in public, under names that bellhop's functions use.
	body := "language plpgsql as $$ begin perform pg_temp.evil(1); return null; end $$"
	for _, schema := range []string{"pg_temp", "public"} {
		for _, f := range []string{"format(pg_catalog.text, pg_catalog.text)", "format(pg_catalog.text, pg_catalog.int8)", "pg_notify(pg_catalog.text, pg_catalog.text)",
			"array_agg(pg_catalog.int8)", "lower(pg_catalog.text)", "cardinality(pg_catalog._int8)", "kick()", "greatest(pg_catalog.int8)", "count(pg_catalog.int8)",
			"string_agg(pg_catalog.text, pg_catalog.text)", "ended(pg_catalog._int8)", "pg_has_role(pg_catalog.name, pg_catalog.oid, pg_catalog.text)",
			"current_setting(pg_catalog.text)", "sha256(pg_catalog.bytea)", "to_jsonb(pg_catalog.text)"} {
			_ = a.try("create function " + schema + "." + f + " returns pg_catalog.text " + body)
		}
		_ = a.try("create function " + schema + ".same(pg_catalog.text, pg_catalog.text) returns pg_catalog.bool language plpgsql as $$ begin perform pg_temp.evil(1); return true; end $$")
		for _, op := range []string{"=", "<>", "~", "!~", "<"} {
			_ = a.try(fmt.Sprintf("create operator %s.%s (leftarg = pg_catalog.text, rightarg = pg_catalog.text, function = %[1]s.same)", schema, op))
			_ = a.try(fmt.Sprintf("create operator %s.%s (leftarg = pg_catalog.name, rightarg = pg_catalog.text, function = %[1]s.same)", schema, op))
		}
	}
	_ = a.try("create collation public.blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
}

// settings are what a session may set.
var settings = []string{
	"search_path = pg_temp, public, pg_catalog, bellhop", "transform_null_equals = on", "array_nulls = off", "quote_all_identifiers = on",
	"datestyle = 'German, DMY'", "intervalstyle = iso_8601", "timezone = 'Pacific/Kiritimati'", "bytea_output = escape", "extra_float_digits = -15",
	"row_security = off", "standard_conforming_strings = off", "backslash_quote = on", "check_function_bodies = off", "xmloption = document",
	"plan_cache_mode = force_generic_plan", "enable_indexscan = off", "enable_seqscan = off", "enable_hashjoin = off", "from_collapse_limit = 1",
	"default_transaction_isolation = 'repeatable read'", "default_transaction_deferrable = on", "lock_timeout = '500ms'", "constraint_exclusion = on",
	"bellhop.traceparent = 'x'", "bellhop.operator = on", "bellhop.caller = 'postgres'", "bellhop.role = 'bellhop_operator'", "application_name = 'bellhop registry'",
	"session_replication_role = replica", "role = 'bellhop_operator'", "role = 'bellhop_scheduler'", "session authorization default",
	"plpgsql.variable_conflict = use_variable", "plpgsql.extra_errors = 'all'", "client_min_messages = debug1",
}

// values are what is passed for a parameter of a type.
func values(kind string, theirs, own int64) []string {
	switch kind {
	case "bigint":
		return []string{fmt.Sprint(theirs), fmt.Sprint(own), "0", "-1", "null"}
	case "bigint[]":
		return []string{
			fmt.Sprintf("array[%d]::pg_catalog._int8", theirs),
			fmt.Sprintf("array[%d,%d,null]::pg_catalog._int8", own, theirs),
		}
	case "text":
		return []string{"'command'", "'taken'", "'a'", "'r.1'", "'; drop schema bellhop cascade; --'", "pg_catalog.repeat('x', 20000)", "e'\\n'", "null"}
	case "text[]":
		return []string{"array['taken','a']::pg_catalog._text", "array['succeeded']::pg_catalog._text", "null"}
	case "jsonb":
		return []string{"'{\"A\":\"1\"}'::pg_catalog.jsonb", "null"}
	case "boolean":
		return []string{"true", "false"}
	case "integer", "smallint":
		return []string{"1::pg_catalog.int4", "-2147483648::pg_catalog.int4"}
	case "interval":
		return []string{"'-1 s'::pg_catalog.interval"}
	case "timestamp with time zone":
		return []string{"'infinity'::pg_catalog.timestamptz"}
	case "regclass":
		return []string{"'bellhop.jobqueue'::pg_catalog.regclass", "'pg_catalog.pg_authid'::pg_catalog.regclass"}
	case "oid":
		return []string{"25::pg_catalog.oid"}
	}
	return []string{"null"}
}

// calls gives statements that call every function of bellhop's that a login may call: each value of each parameter
// once, beside a
// middling one of the others; text with a collation of the attacker's too.
func (a *attacker) calls(admin *pgx.Conn, theirs, own int64) (calls []string) {
	rows, err := admin.Query(a.t.Context(), `select p.oid::regproc::text, p.proretset, array(select format_type(x, null) from unnest(p.proargtypes) x)
		from pg_proc p where p.pronamespace in (select oid from pg_namespace where nspname in ('bellhop', 'bellhop_attached'))
		 and p.prorettype <> 'trigger'::regtype and has_function_privilege($1::text, p.oid, 'execute') order by 1`, a.conn.Config().User)
	if err != nil {
		a.t.Fatal(err)
	}
	var name string
	var set bool
	var kinds []string
	if _, err := pgx.ForEachRow(rows, []any{&name, &set, &kinds}, func() error {
		for i := range max(1, len(kinds)) {
			tries := []string{""}
			if i < len(kinds) {
				tries = values(kinds[i], theirs, own)
				if kinds[i] == "text" {
					tries = append(tries, "'TAKEN' collate public.blind")
				}
			}
			for _, v := range tries {
				args := make([]string, len(kinds))
				for j, kind := range kinds {
					args[j] = values(kind, theirs, own)[0]
				}
				if i < len(kinds) {
					args[i] = v
				}
				calls = append(calls, fmt.Sprintf("select * from %s(%s)", name, strings.Join(args, ", ")))
			}
		}
		return nil
	}); err != nil {
		a.t.Fatal(err)
	}
	// And as apps call it.
	return append(calls, "select bellhop.submit('command', 'pause')", "insert into bellhop.jobqueue (type, args) values ('command', 'pause w')",
		"select bellhop.submit('a', 'guess', key => 'taken')", "select bellhop.submit('a', key => 'TAKEN' collate public.blind)",
		"select bellhop.rjm_setup('t.c1', '', 'n'); select bellhop.rjm_setup('t.p1', 'a=1', 'n', '{t.c1}'::pg_catalog._text)",
		"copy bellhop.jobqueue (type, args) to stdout")
}

// reaches gives statements that try every table and view, and every column of it.
func (a *attacker) reaches(admin *pgx.Conn) (texts []string) {
	rows, err := admin.Query(a.t.Context(), `select c.oid::regclass::text, a.attname::text, coalesce(has_column_privilege($1::text, c.oid, a.attnum, 'select'), false)
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'bellhop'::regnamespace and c.relkind in ('r', 'v') order by 1, 2`, a.conn.Config().User)
	if err != nil {
		a.t.Fatal(err)
	}
	var rel, col string
	var may bool
	if _, err := pgx.ForEachRow(rows, []any{&rel, &col, &may}, func() error {
		c := pgx.Identifier{col}.Sanitize()
		texts = append(texts, fmt.Sprintf("select pg_temp.evil(%s), %[1]s::pg_catalog.text from %s", c, rel),
			fmt.Sprintf("insert into %s (%s) values (default)", rel, c), fmt.Sprintf("insert into %s (%s) values (null) on conflict do nothing", rel, c),
			fmt.Sprintf("update %s set %s = default", rel, c), fmt.Sprintf("select %s from %s for update", c, rel))
		return nil
	}); err != nil {
		a.t.Fatal(err)
	}
	for _, rel := range []string{"jobqueue", "dependency", "job", "paused", "instance", "log", "dependency_turn", "schema_version"} {
		texts = append(texts, "delete from bellhop."+rel, "truncate bellhop."+rel, "begin; lock table bellhop."+rel+" in exclusive mode; rollback",
			"create trigger t after insert on bellhop."+rel+" execute function public.same()", "alter table bellhop."+rel+" disable trigger all",
			"create rule r as on insert to bellhop."+rel+" do also nothing", "create table public.f (x bigint references bellhop."+rel+")",
			"comment on table bellhop."+rel+" is 'x'", "create index on bellhop."+rel+" ((1))")
	}
	return append(texts, "create function bellhop.kick(x int) returns int language sql as 'select 1'", "create table bellhop.mine (x int)",
		"alter function bellhop.submit security invoker", "create or replace function bellhop.caller() returns name language sql as 'select null::name'")
}

// world is all that an attack must not change, as one text; whose rows count is for the role to say.
func world(t *testing.T, admin *pgx.Conn, mine string, operator bool) string {
	t.Helper()
	text := one[string](t, admin, `select string_agg(x.line, e'\n' order by x.line) from (
		select format('%s %s %s %s %s', rolname, rolsuper, rolcreaterole, rolcreatedb, rolconfig) as line from pg_roles where rolname in ($1, 'bellhop_submitter', 'bellhop_reader', 'bellhop_operator')
		union all select format('%s in %s', member, roleid) from pg_auth_members where member = (select oid from pg_roles where rolname = $1)
		union all select format('%s %s %s %s %s', oid, proname, proowner, proacl, md5(prosrc)) from pg_proc where pronamespace = 'bellhop'::regnamespace
		union all select format('%s %s %s', relname, relowner, relacl) from pg_class where relnamespace = 'bellhop'::regnamespace
		union all select format('%s %s', tgname, tgenabled) from pg_trigger where tgrelid = 'bellhop.jobqueue'::regclass) x`, mine)
	if operator {
		return text // those may cancel, pause, prune
	}
	return text + one[string](t, admin, `select e'\n' || coalesce(string_agg(x.line, e'\n' order by x.line), '') from (
		select to_jsonb(j)::text as line from bellhop.jobqueue j where submitted_by is distinct from $1
		union all select to_jsonb(d)::text from bellhop.dependency d join bellhop.jobqueue j on j.id = d.job where j.submitted_by is distinct from $1
		union all select to_jsonb(p)::text from bellhop.paused p
		union all select to_jsonb(i)::text from bellhop.instance i
		union all select to_jsonb(l)::text from bellhop.log l
		union all select to_jsonb(v)::text from bellhop.schema_version v) x`, mine)
}

// changed gives the lines that are in one text alone.
func changed(before, after string) string {
	had := strings.Split(before, "\n")
	lines := slices.DeleteFunc(strings.Split(after, "\n"), func(l string) bool { return slices.Contains(had, l) })
	return strings.Join(lines, "\n")
}

func TestAttack_NoRoleGainsLearnsOrBlocksWhatItWasNotGiven(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"bellhop_submitter", "bellhop_reader", "bellhop_operator", "bellhop_scheduler", "bellhop_attach", "pg_monitor"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			admin, url := setup(t)
			victim := login(t, admin, url, "bellhop_submitter")
			theirs := one[int64](t, victim, "select bellhop.submit('a', 'CANARY', key => 'taken', vars => '{\"A\":\"CANARY\"}', held => true)")
			failed := one[int64](t, victim, "select bellhop.submit('b', 'CANARY', after => array[$1::bigint])", theirs)
			exec(t, victim, "select bellhop.rjm_setup('r.1', 'X=CANARY')")
			exec(t, admin, "insert into bellhop.log (job, level, line) values ($1, 'err', 'CANARY'), ($2, 'err', 'CANARY')",
				theirs, failed)
			exec(t, admin, "insert into bellhop.item (job, fence, item, line, tries) values ($1, 1, 1, 'CANARY', 1)", theirs)
			a := newAttacker(t, admin, url, role)
			var own int64
			if role == "bellhop_submitter" || role == "bellhop_operator" {
				own = one[int64](t, a.conn, "select bellhop.submit('a', 'mine', held => true)")
			}
			calls, reaches := a.calls(admin, theirs, own), a.reaches(admin)
			a.arm(admin)
			operator := role == "bellhop_operator" || role == "bellhop_scheduler" // these may change what is in the queue
			before := world(t, admin, a.conn.Config().User, operator)

			attacks := 0
			assault := func(texts []string) {
				for _, text := range texts {
					attacks++
					_ = a.try(text)
				}
			}
			_ = a.try("set statement_timeout = '20s'")
			assault(calls)
			assault(reaches)
			for _, s := range settings {
				_ = a.try("reset all")
				_ = a.try("set " + s)
				assault([]string{"select bellhop.submit('command', 'pause')", "select bellhop.submit('a', 'x', key => 'taken')",
					fmt.Sprintf("select * from bellhop.explanation(%d)", theirs), fmt.Sprintf("select bellhop.cancel(%d)", theirs),
					fmt.Sprintf("insert into bellhop.dependency (job, needs) values (%d, %d)", theirs, own), "select * from bellhop.job_log"})
				_ = a.try("reset role")
			}
			_ = a.try("reset all")
			// Statements that are cancelled in the middle.
			for _, limit := range []string{"1ms", "3ms", "10ms"} {
				_ = a.try("set statement_timeout = '" + limit + "'")
				assault(calls)
			}
			_ = a.try("reset statement_timeout")

			a.mu.Lock()
			defer a.mu.Unlock()
			for _, text := range a.heard {
				if strings.Contains(text, breach) {
					t.Errorf("its code ran with another's rights: %s", text)
				}
				if !operator && strings.Contains(text, theirSecret) {
					t.Errorf("it was told: %s", text)
				}
			}
			if after := world(t, admin, a.conn.Config().User, operator); after != before {
				t.Errorf("what it must not change has changed: %s", changed(before, after))
			}
			t.Logf("%d attacks", attacks)
		})
	}
}

// A transaction that is kept open, with all in it that a submitter may do, holds up nobody else.
func TestAttack_AnOpenTransactionHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	victim := login(t, admin, url, "bellhop_submitter")
	theirs := one[int64](t, victim, "select bellhop.submit('a', key => 'taken', held => true)")
	later := one[int64](t, victim, "select bellhop.submit('a')")
	a := newAttacker(t, admin, url, "bellhop_submitter")
	own := one[int64](t, a.conn, "select bellhop.submit('a', held => true)")
	other := one[int64](t, a.conn, "select bellhop.submit('a')")
	exec(t, a.conn, "begin")
	for _, text := range append(a.calls(admin, theirs, own), fmt.Sprintf("insert into bellhop.dependency (job, needs) values (%d, %d)", own, other),
		"select pg_advisory_lock(7092165874193953895)", "select pg_advisory_lock(7090192401229115393)") {
		_ = a.try("savepoint s")
		if a.try(text) != nil {
			_ = a.try("rollback to s")
		}
	}
	exec(t, victim, "set statement_timeout = '"+(20*time.Second).String()+"'")
	for _, text := range []string{
		"insert into bellhop.jobqueue (type) values ('a')", "select bellhop.submit('a', key => 'another')", "select bellhop.submit('a', key => 'taken', held => true)",
		fmt.Sprintf("select bellhop.cancel(%d)", later), fmt.Sprintf("select bellhop.release(%d)", theirs), fmt.Sprintf("select bellhop.retry(%d)", later),
		"select * from bellhop.job", fmt.Sprintf("select * from bellhop.explanation(%d)", later),
		"select bellhop.submit('a', after => array[bellhop.submit('a')])", "select bellhop.rjm_setup('t.2', ''); select bellhop.rjm_setup('t.1', '')",
	} {
		exec(t, victim, text)
	}
	exec(t, a.conn, "rollback")
}
