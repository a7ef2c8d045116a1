package migrate_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate"
)

// Every constraint of the queue, what it refuses, and what it must let through.
var constraints = []struct {
	name   string
	column string
	no     []string // SQL values
	yes    []string
}{
	{"jobqueue_type_named", "type", []string{"''", "repeat('x', 501)"}, []string{"' '", "'Löschen 2'", "repeat('x', 500)"}},
	{"jobqueue_args_or_msq", "type, args, msq", []string{"'t', 'a', 'select 1'", "'t', '', 'select 1'"}, []string{"'t', null, null", "'t', '', null", "'t', null, 'x'"}},
	{"jobqueue_args_one_line", "type, args", []string{`'t', e'a\nb'`, `'t', e'a\n'`, `'t', e'\r'`}, []string{`'t', e'a\tb'`, `'t', e'\u2028'`, `'t', repeat('x', 1000000)`}},
	{"jobqueue_msq_not_empty", "type, msq", []string{"'t', ''", `'t', e' \n\t'`}, []string{`'t', e'select 1\n  from t'`}},
	{"jobqueue_repeat_known", "type, msq, repeat", []string{"'t', 'x', 'twice'", "'t', 'x', ''"}, []string{"'t', 'x', 'once'", "'t', 'x', 'until_empty'"}},
	{"jobqueue_repeat_needs_msq", "type, repeat", []string{"'t', 'once'"}, nil},
	{"jobqueue_priority_range", "type, priority", []string{"'t', -21", "'t', 20"}, []string{"'t', -20", "'t', 19"}},
	{"jobqueue_priority_name", "type, priority_name", []string{"'t', ''", "'t', 'a b'", "'t', 'a;'", "'t', 'é'"}, []string{"'t', 'a1'", "'t', 'Z'", "'t', '0'"}},
	{"jobqueue_key_not_empty", "type, key", []string{"'t', ''", "'t', repeat('k', 1001)"}, []string{"'t', ' '", "'t', repeat('k', 1000)"}},
	{"jobqueue_run_on_not_empty", "type, run_on", []string{"'t', ''"}, []string{"'t', 'srv:7'"}},
	{"jobqueue_max_attempts", "type, max_attempts", []string{"'t', 0", "'t', -1"}, []string{"'t', 1", "'t', 2147483647"}},
	{"jobqueue_timeout_positive", "type, timeout", []string{"'t', '0'", "'t', '-1 s'"}, []string{"'t', '1 ms'", "'t', '10 years'"}},
	{"jobqueue_on_failure_known", "type, on_failure", []string{"'t', 'retry'", "'t', ''"}, []string{"'t', 'fail'", "'t', 'block'", "'t', 'run'"}},
	{"jobqueue_locks_well_formed", "type, locks",
		[]string{
			"'t', '{\"\"}'", "'t', '{disk}'", "'t', '{disk=shared}'", "'t', '{disk:a=both}'", "'t', '{big,node:=shared}'",
			"'t', '{big=shared}'", "'t', array[e'n:a=shared\\n']", "'t', array[null]",
			"'t', array['n:' || repeat('x', 2100) || '=shared']",
		},
		[]string{"'t', '{}'", "'t', '{n:a=shared=exclusive,\"n:a b:c=shared\",n:*=shared,n:?=exclusive,big}'"}},
	{"jobqueue_vars_are_strings", "type, vars",
		[]string{"'t', '[]'", "'t', '\"a\"'", "'t', '{\"A\":1}'", "'t', '{\"A\":null}'", "'t', '{\"A\":{}}'", "'t', '{\"A\":\"1\",\"B\":[\"2\"]}'", "'t', 'null'"},
		[]string{"'t', '{}'", "'t', '{\"A\":\"\",\"B\":\"x\\ny\"}'"}},
	{"jobqueue_state_known", "type, state", []string{"'t', 'done'", "'t', ''", "'t', 'READY'"}, []string{"'t', 'blocked'", "'t', 'quarantined'"}},
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

// A queue that is older than the triggers refuses the same before the upgrade and after it, and keeps one CHECK.
func TestConstraints_TriggersTakeThePlaceOfChecks(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.URL(t))
	const checks = "select count(*) from pg_constraint where conrelid = 'bellhop.jobqueue'::regclass and contype = 'c'"
	for _, step := range []struct {
		plan   migrate.Plan
		checks int
	}{{history(t, newest), len(constraints)}, {plan(t), 1}} {
		if _, err := step.plan.Run(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		if n := one[int](t, conn, checks); n != step.checks {
			t.Errorf("%d CHECKs, want %d", n, step.checks)
		}
		for _, role := range []string{"origin", "replica"} {
			exec(t, conn, "set session_replication_role = "+role)
			for _, c := range constraints {
				if code, name := refusal(t, conn, insert(c.column, c.no[0])); code != "23514" || name != c.name {
					t.Errorf("%s: SQLSTATE %q by %q, want it refused by %s", insert(c.column, c.no[0]), code, name, c.name)
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
