package migrate_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/scheduler/grammar"
	"bellhop/sql/migrate"
)

// constraint is a rule of the queue, what it refuses, and what it must let through.
type constraint struct {
	name   string
	column string
	no     []string // SQL values
	yes    []string
}

// constraints are all of them: those about one field by the grammar's bounds, the others by hand.
var constraints = append(bounds(), []constraint{
	{"jobqueue_args_or_msq", "type, args, msq", []string{"'t', 'a', 'select 1'", "'t', '', 'select 1'"}, []string{"'t', null, null", "'t', '', null", "'t', null, 'x'"}},
	{"jobqueue_args_one_line", "type, args", []string{`'t', e'a\nb'`, `'t', e'a\n'`, `'t', e'\r'`}, []string{`'t', e'a\tb'`, `'t', e'\u2028'`, `'t', repeat('x', 1000000)`}},
	{"jobqueue_msq_not_empty", "type, msq", []string{"'t', ''", `'t', e' \n\t'`}, []string{`'t', e'select 1\n  from t'`}},
	{"jobqueue_repeat_needs_msq", "type, repeat", []string{"'t', 'once'"}, nil},
	{"jobqueue_priority_name", "type, priority_name", []string{"'t', ''", "'t', 'a b'", "'t', 'a;'", "'t', 'é'"}, []string{"'t', 'a1'", "'t', 'Z'", "'t', '0'"}},
	{"jobqueue_locks_well_formed", "type, locks",
		[]string{
			"'t', '{\"\"}'", "'t', '{disk}'", "'t', '{disk=shared}'", "'t', '{disk:a=both}'", "'t', '{big,node:=shared}'",
			"'t', '{big=shared}'", "'t', array[e'n:a=shared\\n']", "'t', array[null]",
			"'t', array['n:' || repeat('x', 2100) || '=shared']",
		},
		[]string{"'t', '{}'", "'t', '{n:a=shared=exclusive,\"n:a b:c=shared\",n:*=shared,n:?=exclusive,big}'"}},
	{"jobqueue_reasons_well_formed", "type, reasons",
		[]string{"'t', array[null]", "'t', array['rate-limit:1:a', null]", "'t', '{{a,b},{c,d}}'"},
		[]string{"'t', '{}'", "'t', '{\"\",a,rate-limit:2:mail}'", "'t', '[3:4]={a,b}'"}},
	{"jobqueue_vars_are_strings", "type, vars",
		[]string{"'t', '[]'", "'t', '\"a\"'", "'t', '{\"A\":1}'", "'t', '{\"A\":null}'", "'t', '{\"A\":{}}'", "'t', '{\"A\":\"1\",\"B\":[\"2\"]}'", "'t', 'null'"},
		[]string{"'t', '{}'", "'t', '{\"A\":\"\",\"B\":\"x\\ny\"}'"}},
	{"jobqueue_state_known", "type, state", []string{"'t', 'done'", "'t', ''", "'t', 'READY'"}, []string{"'t', 'blocked'", "'t', 'quarantined'"}},
}...)

// bounds are the rules that the grammar's bounds make, tried at each bound and beyond it.
func bounds() (list []constraint) {
	for name, f := range grammar.Bounded() {
		column, before := "type, "+f.Name, "'t', "
		switch f.Name {
		case "type":
			column, before = "type", ""
		case "repeat": // of a query
			column, before = "type, msq, repeat", "'t', 'select 1', "
		}
		c := constraint{name: name, column: column}
		no := func(format string, args ...any) { c.no = append(c.no, before+fmt.Sprintf(format, args...)) }
		yes := func(format string, args ...any) { c.yes = append(c.yes, before+fmt.Sprintf(format, args...)) }
		switch {
		case f.Choices != nil:
			no("''")
			no("'twice'")
			for _, choice := range f.Choices {
				yes("'%s'", choice)
			}
		case f.Kind == grammar.Long:
			no("'0'")
			no("'-1 s'")
			yes("'1 ms'")
			no("'101 years'")
			no("'100000000 years'")
			yes("'100 years'")
		case f.Kind == grammar.Whole || f.Kind == grammar.Count:
			no("%d", f.Least-1)
			yes("%d", f.Least)
			yes("%d", cmp.Or(f.Most, 1<<31-1))
			if f.Most > 0 {
				no("%d", f.Most+1)
			}
		default:
			no("''")
			yes("' '")
			if f.Most > 0 {
				no("repeat('x', %d)", f.Most+1)
				yes("repeat('é', %d)", f.Most)
			}
			if f.MostBytes > 0 {
				no("repeat('€', %d)", f.MostBytes/3+1)
				yes("repeat('€', %d)", f.MostBytes/3)
			}
		}
		list = append(list, c)
	}
	return list
}

func TestConstraints_RefuseWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	conn, _ := setup(t)
	exec(t, conn, insert("type", "'plain'"))
	tested := map[string]bool{}
	for _, c := range constraints {
		tested[c.name] = true
		for _, values := range c.no {
			if code, name := refusal(t, conn, insert(c.column, values)); code != "23514" || name != c.name {
				t.Errorf("%s: SQLSTATE %q by %q, want it refused by %s", insert(c.column, values), code, name, c.name)
			}
			update := "update bellhop.jobqueue set (" + c.column + ") = row(" + values + ") where type = 'plain'"
			if code, name := refusal(t, conn, update); code != "23514" || name != c.name {
				t.Errorf("%s: SQLSTATE %q by %q, want it refused by %s", update, code, name, c.name)
			}
		}
		for _, values := range c.yes {
			if code, name := refusal(t, conn, insert(c.column, values)); code != "" {
				t.Errorf("%s: SQLSTATE %s by %q", insert(c.column, values), code, name)
			}
		}
	}
	// The queue's CHECKs, and what stands in their place.
	rows, err := conn.Query(t.Context(), `select conname from pg_constraint where conrelid = 'bellhop.jobqueue'::regclass and contype = 'c'
		union all
		select 'jobqueue_' || r[1] from regexp_matches((select prosrc from pg_proc where oid = 'bellhop.refuse'::regproc), 'then ''(\w+)''', 'g') r`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(constraints) {
		t.Errorf("%d rules of %d are in the schema: %v", len(names), len(constraints), names)
	}
	for _, name := range names {
		if !tested[name] {
			t.Errorf("nothing here tries constraint %s", name)
		}
	}
	if code, _ := refusal(t, conn, "insert into bellhop.jobqueue (args) values ('x')"); code != "23502" {
		t.Errorf("a job without a type: SQLSTATE %q", code)
	}
	if code, name := refusal(t, conn, "insert into bellhop.jobqueue (type, key) values ('t', 'k'), ('u', 'k')"); code != "23505" || name != "jobqueue_key" {
		t.Errorf("a key twice: SQLSTATE %q by %q", code, name)
	}
	if n := one[int](t, conn, "select count(*) from pg_constraint where conrelid = 'bellhop.jobqueue'::regclass and contype = 'f'"); n != 0 {
		t.Errorf("%d foreign keys lead out of the queue", n)
	}
}

// A queue that is older than the triggers refuses the same before the upgrade and after it, and keeps one CHECK. Rules
// about younger columns were never CHECKs.
func TestConstraints_TriggersTakeThePlaceOfChecks(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.URL(t))
	var old []string // the CHECKs before the upgrade
	for _, p := range []migrate.Plan{history(t, newest), plan(t)} {
		if _, err := p.Run(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		checks := strings.Fields(one[string](t, conn, `select string_agg(conname, ' ') from pg_constraint
			where conrelid = 'bellhop.jobqueue'::regclass and contype = 'c'`))
		if old == nil {
			old = checks
		} else if len(old) != 16 || !slices.Equal(checks, []string{"jobqueue_state_known"}) {
			t.Errorf("CHECKs before: %q, after: %q", old, checks)
		}
		for _, role := range []string{"origin", "replica"} {
			exec(t, conn, "set session_replication_role = "+role)
			for _, name := range old {
				n := slices.IndexFunc(constraints, func(c constraint) bool { return c.name == name })
				if n < 0 {
					t.Fatalf("nothing here tries constraint %s", name)
				}
				c := constraints[n]
				if code, by := refusal(t, conn, insert(c.column, c.no[0])); code != "23514" || by != c.name {
					t.Errorf("%s: SQLSTATE %q by %q, want it refused by %s", insert(c.column, c.no[0]), code, by, c.name)
				}
			}
		}
		exec(t, conn, "set session_replication_role = origin")
	}
}

func insert(columns, values string) string {
	return "insert into bellhop.jobqueue (" + columns + ") values (" + values + ")"
}

// submit refuses what an INSERT refuses, and a key that has other content.
func TestSubmit_AKeyWithOtherContentNamesTheDifference(t *testing.T) {
	t.Parallel()
	conn, _ := setup(t)
	exec(t, conn, "select bellhop.submit('cat', 'a', key => 'k', priority => 3)")
	_, err := conn.Exec(t.Context(), "select bellhop.submit('cat', 'b', key => 'k', priority => 4)")
	if err == nil || !strings.Contains(err.Error(), "args 'a', not 'b'") || !strings.Contains(err.Error(), "priority 3, not 4") || !strings.Contains(err.Error(), "23505") {
		t.Errorf("%v", err)
	}
	for call, code := range map[string]string{
		"select bellhop.submit('cat', 'a', msq => 'select 1')": "23514",
		"select bellhop.submit('cat', priority => 40)":         "23514",
		"select bellhop.submit(null)":                          "23502",
	} {
		if got, _ := refusal(t, conn, call); got != code {
			t.Errorf("%s: SQLSTATE %q, want %s", call, got, code)
		}
	}
}
