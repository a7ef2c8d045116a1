package store

import (
	"fmt"
	"testing"
)

// A column that is a parameter, or names the event, arrives as JSON writes it, whatever the session's settings say
// of text.
func TestWorkflow_ValuesOfRowsAreAsInJSON(t *testing.T) {
	t.Parallel()
	e := openEnv(t)
	e.exec("create domain yes as bool; create domain at as timestamptz; create domain few as int[]")
	for i, c := range []struct{ kind, value string }{
		{"bool", "true"}, {"yes", "false"}, {"int8", "-7"}, {"numeric", "1.50"}, {"numeric", "'NaN'"}, {"float8", "1e100"}, {"float4", "'-Infinity'"},
		{"text", `'a "b" \ c'`}, {"bpchar", "'x  '"}, {"name", "'n'"}, {"date", "'2026-11-25'"}, {"date", "'infinity'"}, {"timestamp", "'2026-11-25 02:00:00.5'"},
		{"timestamptz", "'2026-11-25 02:00:00+00'"}, {"at", "'2026-11-25 02:00:00+00'"}, {"interval", "'1 day 2 h'"}, {"uuid", "'00000000-0000-0000-0000-00000000000a'"},
		{"json", `'{"a":  [1, "x"]}'`}, {"jsonb", `'{"a": null}'`}, {"jsonb", "'null'"}, {"jsonb", `'"text"'`}, {"bytea", `'\x00ff'`}, {"inet", "'::1'"},
		{"int[]", "'{1,null,3}'"}, {"text[]", `'{a,"b c"}'`}, {"timestamptz[]", "'{2026-11-25 02:00:00+00}'"}, {"few", "'{1,2}'"}, {"yes[]", "'{t,f}'"},
		{"int4range", "'[1,5)'"}, {"point", "'(1,2)'"}, {"text", "''"}, {"text", "null"},
	} {
		name := fmt.Sprintf("t%d", i)
		e.exec(fmt.Sprintf(`select bellhop.workflow_apply('{"workflow":"%s","parameters":{"v":"none"},"steps":[{"name":"a","type":"cat"}]}')`, name))
		e.exec(fmt.Sprintf(`create table %s (id int, v %s); create trigger e after insert on %[1]s for each row execute function bellhop.row_event('%[1]s', 'id', 'v')`, name, c.kind))
		e.exec(fmt.Sprintf("insert into %s values (1, %s)", name, c.value))
		got := e.one(fmt.Sprintf(`select coalesce((select v.parameters ->> 'v' from bellhop.event v where v.workflow = '%s'), '(null)') = coalesce((select to_jsonb(t) ->> 'v' from %[1]s t), '(null)')`, name))
		if got != "true" {
			told := e.one("select parameters from bellhop.event where workflow = $1", name)
			t.Errorf("%s %s is told as %s", c.kind, c.value, told)
		}
	}
}
