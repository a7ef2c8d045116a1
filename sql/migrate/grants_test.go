package migrate

import (
	"io/fs"
	"strings"
	"testing"

	"bellhop/sql"
	"bellhop/triggers"
)

func TestGrants_OfAFunction(t *testing.T) {
	t.Parallel()
	text := "-- f: does it.\n-- Grant: reader submitter\ncreate or replace function bellhop.f(a int) returns int\n"
	got, err := withGrants(text)
	for _, want := range []string{
		text, "revoke all on function bellhop.f from public;",
		"rolname = 'bellhop_submitter') then\n    grant execute on function bellhop.f to bellhop_submitter;",
		"rolname = 'bellhop_reader') then\n    grant execute on function bellhop.f to bellhop_reader;",
	} {
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: %s\nhas no %s", err, got, want)
		}
	}
	got, err = withGrants("-- Grant: none\ncreate or replace function bellhop.f()")
	if err != nil || strings.Contains(got, "grant execute") {
		t.Errorf("none: %v: %s", err, got)
	}
	for text, says := range map[string]string{
		"-- Grant: readers\ncreate or replace function bellhop.f()":  `bellhop.f is granted to "readers"; roles are submitter,`,
		"-- Grant: reader\n\ncreate or replace function bellhop.f()": "must stand right before a function",
	} {
		if _, err := withGrants(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Each function says which roles may call it, but for trigger functions, which PostgreSQL calls.
func TestGrants_EachFunctionHasALine(t *testing.T) {
	t.Parallel()
	for pattern, from := range map[string]fs.FS{"functions/*.sql": sql.Migrations, "*.sql": triggers.Scripts} {
		names, err := fs.Glob(from, pattern)
		if err != nil || len(names) < 10 {
			t.Fatalf("%d scripts: %v", len(names), err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(from, name)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			for i, line := range lines {
				f := functionLine.FindStringSubmatch(line)
				granted := i > 0 && strings.HasPrefix(lines[i-1], "-- Grant: ")
				if f != nil && !granted && !strings.Contains(line, "returns trigger") {
					t.Errorf("%s: %s has no line like -- Grant: reader right before it", name, f[1])
				}
			}
		}
	}
}
