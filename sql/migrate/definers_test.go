package migrate_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/sql"
)

var (
	comments = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/`)
	literals = regexp.MustCompile(`(?s)'(?:[^']|'')*'`)
	ofRow    = regexp.MustCompile(`(?i)\b(?:new|old)\b`)
	handed   = regexp.MustCompile(`(?i)\bexecute bellhop\.columns_read\(wanted\) into given using new;`)
	reads    = regexp.MustCompile(`(?i)\b(?:from|join|update|into|table)\s+(?:only\s+)?("[^"]+"|[a-z_][\w$]*)\s*([.(]?)`)
)

// liberties gives what the body of a definer trigger function may not do on a table of others: NEW and OLD may
// have any type, and a transition table any name.
func liberties(body string) (found []string) {
	body = literals.ReplaceAllString(comments.ReplaceAllString(body, ""), "''")
	for _, at := range ofRow.FindAllString(handed.ReplaceAllString(body, ""), -1) {
		found = append(found, "looks into "+at)
	}
	into := regexp.MustCompile(`(?is)declare(.*?)begin`).FindString(body) // variables are no tables
	for _, m := range reads.FindAllStringSubmatch(body, -1) {
		if m[2] == "" && !strings.Contains(into, "\n  "+m[1]+" ") {
			found = append(found, "names "+m[1]+" without a schema")
		}
	}
	return found
}

// Trigger functions that others put on tables of theirs, and that run with the rights of bellhop's owner, touch
// neither a value nor a name that is the other's.
func TestSafety_TriggersOnOthersTables(t *testing.T) {
	t.Parallel()
	admin, _ := setup(t)
	text, _ := sql.Compat("fossology")
	exec(t, admin, text)
	rows, err := admin.Query(t.Context(), `select p.proname, p.prosrc from pg_proc p
		where p.pronamespace in ('bellhop'::regnamespace, 'fossology'::regnamespace) and p.prorettype = 'trigger'::regtype and p.prosecdef
		  and (exists (select from aclexplode(p.proacl) x where x.grantee <> p.proowner)
		       or not exists (select from pg_trigger g join pg_class c on c.oid = g.tgrelid
		                       where g.tgfoid = p.oid and c.relnamespace in ('bellhop'::regnamespace, 'fossology'::regnamespace))
		          and p.proname <> 'filter_came')`) // bellhop.filter_trigger puts it on the queue
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var name, body string
	if _, err := pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		found[name] = true
		for _, what := range liberties(body) {
			t.Errorf("%s %s", name, what)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, []string{"row_event", "table_sensor"}) {
		t.Errorf("looked at %v", got)
	}
	for wrong, want := range map[string]string{
		"declare\n  columns jsonb := to_jsonb(new);\nbegin return null; end":                                          "looks into new",
		"begin perform format('%s', new.id); end":                                                                     "looks into new",
		"begin execute 'select ($1).id::text' using old; end":                                                         "looks into old",
		"begin perform from pg_attribute a where a.attname = 'from bellhop.job'; end":                                 "names pg_attribute without a schema",
		"begin insert into came select 1; end":                                                                        "names came without a schema",
		"begin /* new */ perform from pg_catalog.pg_type t join \"event\" e on true; end":                             "names \"event\" without a schema",
		"declare\n  given text[];\nbegin execute bellhop.columns_read(wanted) into given using new; x := new.id; end": "looks into new",
	} {
		if got := liberties(wrong); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: found %v", wrong, got)
		}
	}
}

// No function with its owner's rights, and none that a role may call, has a parameter of which the caller chooses
// the type.
func TestSafety_NoFunctionTakesAValueOfAnyType(t *testing.T) {
	t.Parallel()
	admin, _ := setup(t)
	for _, f := range one[[]string](t, admin, `select coalesce(array_agg(distinct p.oid::regprocedure::text), '{}')
		from pg_proc p cross join unnest(p.proargtypes) a (type) join pg_type t on t.oid = a.type
		where p.pronamespace = 'bellhop'::regnamespace
		  and (p.prosecdef or exists (select from aclexplode(p.proacl) x where x.grantee <> p.proowner))
		  and (t.typtype = 'p' or t.oid >= 16384 and not exists (select from pg_class c where c.reltype in (t.oid, t.typelem) and c.relnamespace = 'bellhop'::regnamespace))`) {
		t.Errorf("%s takes a value of a type that its caller makes", f)
	}
}

// Functions that put statements together, each with what it takes names from. One more needs an entry here: each
// name in it is quoted (%I, quote_ident, a regclass), and each value a literal (%L) or a parameter.
func TestSafety_FunctionsThatPutStatementsTogether(t *testing.T) {
	t.Parallel()
	admin, _ := setup(t)
	known := map[string]string{
		"archived":          "a regclass, with the rights of the caller",
		"attach_under":      "columns and tables of the catalogs, with the rights of the caller",
		"carry_out":         "what turn_statements and attach_under gave, with the rights of the caller",
		"detach_under":      "columns and tables of the catalogs, with the rights of the caller",
		"filter_trigger":    "nothing",
		"forget_attachment": "%I of an attachment's function, in bellhop_attached",
		"ring_rows":         "%I of a column, with the rights of the INSERT",
		"rows_before":       "columns and tables of the catalogs, with the rights of the caller",
		"row_event":         "columns_read: %I of its arguments",
		"table_sensor":      "columns_read: %I of its argument, and of columns",
		"turn_under":        "columns and tables of the catalogs, with the rights of the attacher",
		"watch_table":       "a regclass, %I and %L",
	}
	rows, err := admin.Query(t.Context(), "select proname, prosrc from pg_proc where pronamespace = 'bellhop'::regnamespace and prokind = 'f'")
	if err != nil {
		t.Fatal(err)
	}
	execute := regexp.MustCompile(`(?i)\bexecute\b`)
	var name, body string
	if _, err := pgx.ForEachRow(rows, []any{&name, &body}, func() error {
		body = literals.ReplaceAllString(comments.ReplaceAllString(body, ""), "''")
		if execute.MatchString(body) && known[name] == "" {
			t.Errorf("%s puts statements together, and has no entry that says from what", name)
		} else if execute.MatchString(body) {
			delete(known, name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name := range known {
		t.Errorf("%s puts no statements together any more", name)
	}
}
