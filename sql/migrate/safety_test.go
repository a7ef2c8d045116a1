package migrate_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/pgdev/pgtest"
	"bellhop/sql"
)

// finding is one row of queries/doctor_safety.sql.
type finding struct{ What, Mend string }

func unsafe(t *testing.T, admin *pgx.Conn) []finding {
	t.Helper()
	rows, err := admin.Query(t.Context(), sql.Query("doctor_safety"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[finding])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The rule: nothing of bellhop's looks up a name where its caller says, and nobody else's code runs with its owner's
// rights.
func TestSafety_NoFunctionLooksWhereItsCallerSays(t *testing.T) {
	t.Parallel()
	admin, _ := setup(t)
	text, _ := sql.Compat("fossology")
	exec(t, admin, text)
	for _, f := range unsafe(t, admin) {
		t.Errorf("%s\n\tmend: %s", f.What, f.Mend)
	}
	// A name that a cast or a lookup resolves while the function runs says its schema, whatever the path.
	rows, err := admin.Query(t.Context(), `select p.oid::regprocedure::text, p.prosrc from pg_proc p
		 where p.pronamespace in ('bellhop'::regnamespace, 'fossology'::regnamespace)`)
	if err != nil {
		t.Fatal(err)
	}
	cast := regexp.MustCompile(`'([^']*)'::(regclass|regtype|regproc|regprocedure|regoperator|regrole)\b|to_reg\w+\('([^']*)'\)`)
	builtin := []string{"time", "timetz", "timestamp", "timestamptz", "date", "bool", "int2", "int4", "int8", "text", "varchar", "bpchar"}
	var name, body string
	if _, err := pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		for _, m := range cast.FindAllStringSubmatch(body, -1) {
			// builtin types: pg_catalog is first on each path
			if !strings.Contains(m[1]+m[3], ".") && !slices.Contains(builtin, m[1]) {
				t.Errorf("%s looks up %q without a schema", name, m[0])
			}
		}
		// What a session may say of itself goes by its login, whatever role it has SET.
		if strings.Contains(body, "session_user") && name != "bellhop.believed(text)" {
			t.Errorf("%s asks session_user by itself: bellhop.caller() says who asks", name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Each way to break the rule is found on a living database, and what is printed mends it.
func TestSafety_DoctorsLineMends(t *testing.T) {
	t.Parallel()
	admin, url := setup(t)
	owner := one[string](t, admin, "select nspowner::regrole::text from pg_namespace where nspname = 'bellhop'")
	other := login(t, admin, url, "bellhop_operator")
	name := one[string](t, other, "select current_user::text")
	exec(t, admin, "grant create on schema public to "+name)
	exec(t, other, "create function public.theirs() returns trigger language plpgsql as 'begin return null; end'")
	exec(t, other, "create function public.value() returns text language sql as 'select ''x''::text'")
	for want, broken := range map[string]string{
		"looks up names where":         "alter function bellhop.submit reset search_path",
		"may be called by PUBLIC":      "grant execute on function bellhop.prune to public",
		"function bellhop.kick() belo": "alter function bellhop.kick owner to " + name,
		"table bellhop.log belongs":    "alter table bellhop.log owner to " + name,
		"may make objects in schema":   "grant create on schema bellhop to " + name,
		"has TRIGGER on":               "grant trigger on bellhop.jobqueue to " + name,
		"runs code of":                 "create trigger theirs after insert on bellhop.log execute function public.theirs()",
		"changes what statements do":   "create rule r as on insert to bellhop.located do also nothing",
		"is made with":                 "alter table bellhop.item alter line set default public.value()",
	} {
		exec(t, admin, broken)
		found := unsafe(t, admin)
		if len(found) != 1 || !strings.Contains(found[0].What, want) {
			t.Errorf("after %s: found %v, want one that says %q", broken, found, want)
		}
		for _, f := range found {
			exec(t, admin, f.Mend)
		}
		if left := unsafe(t, admin); len(left) > 0 {
			t.Errorf("after %s: left %v", found, left)
		}
	}
	exec(t, admin, "drop owned by "+name)
	exec(t, admin, "revoke all on schema public from "+name)
	if now := one[string](t, admin, "select nspowner::regrole::text from pg_namespace where nspname = 'bellhop'"); now != owner {
		t.Errorf("the schema belongs to %s now, not to %s", now, owner)
	}
}

// An installation whose functions are those of its numbered migrations is mended by its next migration.
func TestSafety_AnOlderInstallationIsMended(t *testing.T) {
	t.Parallel()
	admin := connect(t, pgtest.URL(t))
	if _, err := history(t, newest).Run(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	if found := unsafe(t, admin); len(found) < 20 {
		t.Errorf("only %d faults of the old functions are found", len(found))
	}
	if _, err := plan(t).Run(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	for _, f := range unsafe(t, admin) {
		t.Errorf("left: %s", f.What)
	}
}

// Functions live in functions/ and triggers/, where a change of their text is put in place: one in the baseline or in a
// numbered migration would be history at once, and would undo what the file says on a database that has that already.
func TestSafety_MigrationsMakeNoFunctions(t *testing.T) {
	t.Parallel()
	makes := regexp.MustCompile(`(?im)^\s*create\s+(or\s+replace\s+)?(function|procedure|trigger)\b`)
	for _, pattern := range []string{"baseline/*.sql", "migrations/*.sql"} {
		names, err := fs.Glob(sql.Migrations, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(sql.Migrations, name)
			if err != nil {
				t.Fatal(err)
			}
			if makes.Match(text) {
				t.Errorf("%s makes a function or a trigger: it belongs to sql/functions or triggers", name)
			}
		}
	}
}
