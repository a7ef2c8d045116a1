package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql"
	"bellhop/sql/migrate"
	"bellhop/sql/migrate/migrated"
)

// TestBaseline_IsWhatTheHistoryMade: a database that went through all migrations from 0001 on has the same schema
// as one that began with the baseline: objects, rights, comments, options, and the rows that migrations write.
func TestBaseline_IsWhatTheHistoryMade(t *testing.T) {
	t.Parallel()
	fresh, _ := setup(t)
	grown, _ := setupAt(t, newest)
	if _, err := plan(t).Run(t.Context(), grown); err != nil {
		t.Fatal(err)
	}
	isSame(t, grown, fresh)
}

// TestBaseline_ADatabaseOfTheHistoryGoesOn: one that stands at 48 by its migrations gets the same schema too, and each
// row of each table stays what it is.
func TestBaseline_ADatabaseOfTheHistoryGoesOn(t *testing.T) {
	t.Parallel()
	grown, _ := setupAt(t, "0048")
	migrated.FillBaseline(t, grown, "Ünicode's \"text\"")
	for _, row := range []string{
		"asserted values (1)", "deadline values (1, now())", "lock_reserved values (5, now())", "run_end (run, workflow, state) values (1, 'nightly', 'failed')",
		"operation_job (operation, job, state, held, priority) values (1, 1, 'ready', false, 3)", "operation_part values (1, 2, '{1,2}')",
		"sign_in values ('x', true, 'a login', now(), now())", "sketch (what, name, pairs) values ('took', 'a', '{1,2}')",
		"schema_script (name, checksum) values ('gone.sql', 'x')",
	} {
		exec(t, grown, "insert into bellhop."+row)
	}
	before := rowsOf(t, grown)
	for table, rows := range before {
		if len(rows) == 0 && table != "dependency_turn" { // which has no columns
			t.Errorf("table %s has no row", table)
		}
	}
	if _, err := plan(t).Run(t.Context(), grown); err != nil {
		t.Fatal(err)
	}
	for table, rows := range before {
		for _, row := range rows {
			if !one[bool](t, grown, fmt.Sprintf("select exists (select from bellhop.%s t where to_jsonb(t) @> $1::jsonb)", table), row) {
				t.Errorf("%s has lost or changed %s", table, row)
			}
		}
	}
	exec(t, grown, "delete from bellhop.schema_script where name = 'gone.sql'")
	fresh, _ := setup(t)
	if was, is := everything(t, grown), everything(t, fresh); was != is {
		t.Errorf("the schema is another one: %s", differences(was, is))
	}
}

// rowsOf gives the rows of each table as JSON.
func rowsOf(t *testing.T, conn *pgx.Conn) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	tables := lines(t, conn, `select relname from pg_class where relnamespace = 'bellhop'::regnamespace and relkind = 'r'`)
	for _, table := range tables {
		all[table] = lines(t, conn, fmt.Sprintf("select to_jsonb(t)::text from bellhop.%s t", table))
	}
	return all
}

// TestBaseline_AnOlderDatabaseIsRefused: the refusal says what to do, and changes nothing.
func TestBaseline_AnOlderDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"0001", "0020", "0047"} {
		t.Run(last, func(t *testing.T) {
			t.Parallel()
			conn, _ := setupAt(t, last)
			schema, rows := everything(t, conn), fmt.Sprint(rowsOf(t, conn))
			p := plan(t)
			steps, ran := p.Run(t.Context(), conn)
			pending, planned := p.Pending(t.Context(), conn)
			for what, err := range map[string]error{"Run": ran, "Pending": planned, "Check": p.Check(t.Context(), conn)} {
				if !errors.Is(err, migrate.ErrBeforeBaseline) || errors.Is(err, migrate.ErrTooOld) ||
					!strings.Contains(err.Error(), "it is at "+strings.TrimLeft(last, "0")+", and they begin at 48") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if len(steps)+len(pending) > 0 {
				t.Errorf("it did %v, and would do %v", steps, pending)
			}
			if everything(t, conn) != schema || fmt.Sprint(rowsOf(t, conn)) != rows {
				t.Error("the refusal has changed the database")
			}
		})
	}
}

// isSame compares all that migrations make.
func isSame(t *testing.T, grown, fresh *pgx.Conn) {
	t.Helper()
	if was, is := everything(t, grown), everything(t, fresh); was != is {
		t.Errorf("the schema is another one: %s", differences(was, is))
	}
	for name, query := range beside {
		was, is := lines(t, grown, query), lines(t, fresh, query)
		if len(was) == 0 {
			t.Errorf("%s: nothing is compared", name)
		}
		if !slices.Equal(was, is) {
			t.Errorf("%s: %s", name, differences(strings.Join(was, "\n"), strings.Join(is, "\n")))
		}
	}
	isSameRows(t, grown, fresh)
}

// beside is what everything leaves out, as queries of one text column.
var beside = map[string]string{
	"rights": sql.Query("rights"),
	// Those of every role, and those that PUBLIC and owners have of themselves.
	"all rights": `select format('%s: %s to %s', what, string_agg(x.privilege_type || case when x.is_grantable then '*' else '' end, ' ' order by x.privilege_type), x.grantee::regrole)
		  from (select c.oid::regclass::text, coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
		          from pg_class c where c.relnamespace = 'bellhop'::regnamespace and c.relkind in ('r', 'v', 'S')
		        union all
		        select a.attrelid::regclass || '.' || a.attname, a.attacl
		          from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relnamespace = 'bellhop'::regnamespace where a.attacl is not null
		        union all
		        select p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner)) from pg_proc p where p.pronamespace = 'bellhop'::regnamespace
		        union all
		        select n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner)) from pg_namespace n where n.nspname like 'bellhop%') o (what, acl)
		 cross join aclexplode(o.acl) x group by o.what, x.grantee order by 1`,
	"comments": `select i.type || ' ' || i.identity || ': ' || d.description
		  from pg_description d cross join pg_identify_object(d.classoid, d.objoid, d.objsubid) i
		 where d.objoid >= 16384 order by 1`,
	"options": `select format('%s %s %s %s %s', c.oid::regclass, c.relkind, c.relpersistence, c.relreplident, c.reloptions)
		  from pg_class c where c.relnamespace = 'bellhop'::regnamespace order by 1`,
	// Of their options those that ALTER TABLE sets: a server may write others there itself.
	"columns": `select format('%s %s %s %s %s %s', a.attrelid::regclass, a.attname, a.attnum, a.attstorage, a.attgenerated,
		              array(select o from unnest(a.attoptions) o where o like 'n_distinct%'))
		  from pg_attribute a join pg_class c on c.oid = a.attrelid
		 where c.relnamespace = 'bellhop'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0 order by a.attrelid::regclass::text, a.attnum`,
	"sequences": `select format('%s %s %s %s %s %s %s %s', sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size)
		  from pg_sequences where schemaname = 'bellhop' order by 1`,
	"views": `select c.relname || ': ' || pg_get_viewdef(c.oid) from pg_class c
		 where c.relnamespace = 'bellhop'::regnamespace and c.relkind = 'v' order by 1`,
	"scripts": `select name || ' ' || checksum from bellhop.schema_script order by 1`,
	"version": `select max(version)::text || ' ' || max(works_from) from bellhop.schema_version`,
}

// isSameRows compares the rows that migrations write, without times and transactions.
func isSameRows(t *testing.T, grown, fresh *pgx.Conn) {
	t.Helper()
	tables := lines(t, fresh, `select format('select (to_jsonb(t) - %L::text[])::text from bellhop.%I t order by 1',
		       array(select a.attname from pg_attribute a where a.attrelid = c.oid and a.atttypid in ('timestamptz'::regtype, 'xid8'::regtype)), c.relname)
		  from pg_class c where c.relnamespace = 'bellhop'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_version'`)
	n := 0
	for _, query := range tables {
		was, is := lines(t, grown, query), lines(t, fresh, query)
		if n += len(is); !slices.Equal(was, is) {
			t.Errorf("%s: %s", query, differences(strings.Join(was, "\n"), strings.Join(is, "\n")))
		}
	}
	if n == 0 {
		t.Error("no table has a row")
	}
}

func lines(t *testing.T, conn *pgx.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	return found
}

// differences lists the lines that only one of two texts has.
func differences(was, is string) string {
	var b strings.Builder
	a, c := strings.Split(was, "\n"), strings.Split(is, "\n")
	for _, side := range []struct {
		mark       string
		has, lacks []string
	}{{"-", a, c}, {"+", c, a}} {
		for _, line := range side.has {
			if !slices.Contains(side.lacks, line) {
				fmt.Fprintf(&b, "\n%s %s", side.mark, line)
			}
		}
	}
	if b.Len() == 0 {
		return "the order of lines"
	}
	return b.String()
}

// A login that may not make roles brings up the same schema, and gives the roles that are there their rights.
func TestBaseline_WithoutTheRightToMakeRoles(t *testing.T) {
	t.Parallel()
	reference, _ := setup(t) // it makes the roles
	url := pgtest.URL(t)
	admin := connect(t, url)
	owner := login(t, admin, url, "pg_monitor")
	database := pgx.Identifier{admin.Config().Database}.Sanitize()
	exec(t, admin, fmt.Sprintf("grant create on database %s to %s", database, owner.Config().User))
	if _, err := plan(t).Run(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if was, is := everything(t, reference), everything(t, owner); was != is {
		t.Errorf("the schema is another one: %s", differences(was, is))
	}
	if was, is := lines(t, reference, sql.Query("rights")), lines(t, owner, sql.Query("rights")); !slices.Equal(was, is) {
		t.Errorf("rights: %s", differences(strings.Join(was, "\n"), strings.Join(is, "\n")))
	}
	exec(t, admin, "drop owned by "+owner.Config().User+" cascade")
}
