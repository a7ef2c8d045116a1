package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/pgdev/pgtest"
	"bellhop/sql/view"
)

// checked is one of doctor's, as its JSON has it.
type checked struct{ Check, Verdict, Says, Mend string }

// diagnosed is what doctor says of one check, under a configuration.
func (s *harness) diagnosed(check, config string) (found []checked) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "bellhop.yaml")
	clitest.Write(s.t, file, config)
	r := s.run("doctor", "-o", "json", "-c", file, "--data-dir", s.t.TempDir())
	var all struct{ Findings []checked }
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil {
		s.t.Fatalf("%v in %+v", err, r)
	}
	for _, d := range all.Findings {
		if d.Check == check {
			found = append(found, d)
		}
	}
	return found
}

// TestDoctor_TriggersAreThoseOfTheSchema: the list it looks for is the whole one.
func TestDoctor_TriggersAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	rows, err := view.NewLook(s.conn).Triggers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := s.diagnosed("triggers", "")
	if len(d) != 1 || d[0].Verdict != "ok" || d[0].Says != fmt.Sprintf("all %d exist and fire", len(rows)) {
		t.Errorf("%d triggers, and it says %+v", len(rows), d)
	}
}

// TestRoles_ScriptPutsEverythingInPlace: it mends what was lost, and takes what
// is too much. (Roles are the whole server's: none is dropped here.)
func TestRoles_ScriptPutsEverythingInPlace(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	// Read without a list of roles, which may lack one.
	all := func() (lines string) {
		t.Helper()
		err := s.conn.QueryRow(t.Context(), `select string_agg(format('%s %s %s', x.privilege_type, g.object, r.rolname), e'\n'
				order by x.privilege_type, g.object, r.rolname)
			from (select 'schema ' || nspname as object, nspacl as acl, nspowner as owner from pg_namespace where nspname = 'bellhop'
			      union all select relname, relacl, relowner from pg_class where relnamespace = 'bellhop'::regnamespace
			      union all select proname, coalesce(proacl, acldefault('f', proowner)), proowner from pg_proc where pronamespace = 'bellhop'::regnamespace) g
			cross join aclexplode(g.acl) x left join pg_roles r on r.oid = x.grantee
			where x.grantee <> g.owner and (x.grantee = 0 or r.rolname like 'bellhop\_%')`).Scan(&lines)
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	want := all()
	if s.ok("install", "roles"); all() != want {
		t.Errorf("right after the migrations it changes what roles may do: %s\nthey could %s", all(), want)
	}
	for _, statement := range []string{
		"revoke execute on function bellhop.take from bellhop_worker",
		"revoke all on all tables in schema bellhop from bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler",
		"grant all on all functions in schema bellhop to public",
		"grant update (args) on bellhop.jobqueue to bellhop_reader",
		"revoke usage on schema bellhop from bellhop_reader",
	} {
		s.sql(statement)
	}
	if d := s.diagnosed("rights", ""); len(d) < 3 || d[0].Verdict != "mend" {
		t.Errorf("it finds %+v", d)
	}
	if out := s.ok("install", "roles", "--print"); !strings.Contains(out, "revoke all on schema bellhop") {
		t.Errorf("printed %s", out)
	}
	s.ok("install", "roles")
	if d := s.diagnosed("rights", ""); len(d) != 1 || d[0].Verdict != "ok" {
		t.Errorf("it finds %+v", d)
	}
	if got := all(); got != want {
		t.Errorf("roles may do\n%s\nwant\n%s", got, want)
	}
}

// TestDoctor_SafetyNamesWhatMends: what an update by hand, or a restore, has left open is found.
func TestDoctor_SafetyNamesWhatMends(t *testing.T) {
	t.Parallel()
	s := newHarness(t)
	s.sql("alter function bellhop.submit reset search_path")
	d := s.diagnosed("safety", "")
	if len(d) != 1 || d[0].Verdict != "mend" {
		t.Fatalf("it finds %+v", d)
	}
	has(t, d[0].Says, "function bellhop.submit(")
	has(t, d[0].Mend, "set search_path = pg_catalog, bellhop, pg_temp")
}

// TestDoctor_EmbeddedServer: the line to type leads to it.
func TestDoctor_EmbeddedServer(t *testing.T) {
	t.Parallel()
	c := pgtest.Cluster(t)
	if r := command("--database-url", c.URL(), "migrate"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	r := command("doctor", "--data-dir", c.Dir(), "--database-url", "")
	for _, want := range []string{"data folder", "GB left", "fsync is off", "psql '" + c.URL() + "' -c 'alter system set fsync = on'", "msq_url"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in %+v", want, r)
		}
	}
	if r.code != cli.ExitUnwell {
		t.Errorf("exit code %d", r.code)
	}
}
