package migrate_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"bellhop/pgdev/pgtest"
	"bellhop/sql/migrate"
)

// grown is a plan of so many migrations and a script; the last migrations begin with what they say of older binaries.
func grown(t *testing.T, script string, said ...string) migrate.Plan {
	t.Helper()
	files := fstest.MapFS{
		"migrations/0001_first.sql": {Data: []byte("create table bellhop.first (id int);")},
		"functions/f.sql": {Data: []byte("create or replace function bellhop.f() returns text language sql " +
			"set search_path = pg_catalog as $$ select '" + script + "' $$")},
	}
	for i, line := range said {
		name := "migrations/000" + string(rune('2'+i)) + "_more.sql"
		files[name] = &fstest.MapFile{Data: []byte(line + "\nselect 1;")}
	}
	p, err := migrate.New(files, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A newer schema names the oldest binary that may be started on it. That binary starts, and its migrate leaves the
// newer functions in place; one that is older still is told why it may not.
func TestWorksFrom(t *testing.T) {
	t.Parallel()
	const any, first = "-- any", "-- Works from: 0001"
	for name, c := range map[string]struct {
		newer []string
		older []string
		may   bool
	}{
		"it adds":                               {[]string{first}, nil, true},
		"it says nothing":                       {[]string{any}, nil, false},
		"the second adds, the third takes away": {[]string{first, "-- Works from: 0002"}, nil, false},
		"the same, a version later":             {[]string{first, "-- Works from: 0002"}, []string{first}, true},
		"what takes away comes first":           {[]string{any, first}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, migratedBy(t, grown(t, "newer", c.newer...)))
			older := grown(t, "older", c.older...)
			check, steps := older.Check(t.Context(), conn), 0
			done, err := older.Run(t.Context(), conn)
			steps = len(done)
			if c.may && (check != nil || err != nil || steps > 0) {
				t.Errorf("may start: %v; migrate did %d steps: %v", check, steps, err)
			}
			if !c.may && (!errors.Is(check, migrate.ErrTooNew) || !errors.Is(err, migrate.ErrTooNew) ||
				!strings.Contains(check.Error(), "works with binaries from")) {
				t.Errorf("may not start: %v; migrate: %v", check, err)
			}
			var f string
			if err := conn.QueryRow(t.Context(), "select bellhop.f()").Scan(&f); err != nil || f != "newer" {
				t.Errorf("the function is the %s one (%v)", f, err)
			}
		})
	}
}

// A line that names no version, or one that is still to come, is found out before anything is migrated.
func TestWorksFrom_IsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"-- Works from: soon", "-- Works from: 0003", "-- Works from: 0"} {
		files := fstest.MapFS{
			"migrations/0001_first.sql": {Data: []byte("select 1;")},
			"migrations/0002_more.sql":  {Data: []byte(line + "\nselect 1;")},
		}
		if _, err := migrate.New(files, fstest.MapFS{}); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

// migratedBy gives a database of the test's own that a plan has migrated.
func migratedBy(t *testing.T, p migrate.Plan) string {
	t.Helper()
	url := pgtest.URL(t)
	if _, err := p.Run(t.Context(), connect(t, url)); err != nil {
		t.Fatal(err)
	}
	return url
}
