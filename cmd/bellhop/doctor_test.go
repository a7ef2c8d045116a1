package main

import (
	"strings"
	"testing"
	"time"

	"bellhop/config"
	"bellhop/pgdev/pgtest"
	"bellhop/sql/store"
)

// TestDoctor_ServersThatCannotBeMadeHere: what a test cannot bring about, such
// as a full queue of 8 GB, is judged from its row all the same.
func TestDoctor_ServersThatCannotBeMadeHere(t *testing.T) {
	t.Parallel()
	well := func() store.ServerRow {
		return store.ServerRow{Version: 150018, Fsync: true, FullPageWrites: true, SynchronousCommit: "on", Autovacuum: true,
			Clock: time.Now(), MaxConnections: 100, Connections: 10, Database: "app"}
	}
	for name, tt := range map[string]struct {
		ill          func(*store.ServerRow)
		check, mends string
	}{
		"nothing":   {func(*store.ServerRow) {}, "", ""},
		"too old":   {func(s *store.ServerRow) { s.Version = 130010 }, "server", "PostgreSQL 14 or newer"},
		"a standby": {func(s *store.ServerRow) { s.Standby, s.ReadOnly = true, true }, "writable", "target_session_attrs=read-write"},
		"an hour":   {func(s *store.ServerRow) { s.Clock = s.Clock.Add(-time.Hour) }, "clock", "timedatectl"},
		"full":      {func(s *store.ServerRow) { s.NotifyUsage = 0.11 }, "notifications", "pg_terminate_backend"},
		"crowded":   {func(s *store.ServerRow) { s.Connections = 91 }, "connections", "max_connections = 200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &doctor{app: &app{}, where: place{url: "postgres://x", from: "a test"}}
			s := well()
			tt.ill(&s)
			d.checkServer(s, time.Now())
			var mends []diagnosis
			for _, f := range d.findings {
				if f.Verdict == mend {
					mends = append(mends, f)
				}
			}
			switch {
			case tt.check == "" && len(mends) > 0:
				t.Errorf("found %+v", mends)
			case tt.check != "" && (len(mends) != 1 || mends[0].Check != tt.check || !strings.Contains(mends[0].Mend, tt.mends)):
				t.Errorf("found %+v", mends)
			}
		})
	}
}

// TestDoctor_TriggersAreThoseOfTheSchema: the list it looks for is the whole one.
func TestDoctor_TriggersAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	s := setup(t)
	rows, err := store.NewLook(s.conn).Triggers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := triggersMade()
	if err != nil || len(rows) != len(made) {
		t.Errorf("%d triggers, %d are looked for (%v)", len(rows), len(made), err)
	}
	for _, r := range rows {
		if made[r.OnTable+" "+r.Name] == "" || !r.Fires {
			t.Errorf("%+v is not looked for", r)
		}
	}
}

// TestRoles_ScriptPutsEverythingInPlace: it mends what was lost, and takes what
// is too much. (Roles are the whole server's: none is dropped here.)
func TestRoles_ScriptPutsEverythingInPlace(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, statement := range []string{
		"revoke all on all tables in schema bellhop from bellhop_submitter, bellhop_reader, bellhop_operator, bellhop_scheduler",
		"grant all on all functions in schema bellhop to public",
		"grant update (args) on bellhop.jobqueue to bellhop_reader",
		"revoke usage on schema bellhop from bellhop_reader",
	} {
		if _, err := s.conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if out := s.ok("install", "roles", "--print"); !strings.Contains(out, "revoke all on schema bellhop") {
		t.Errorf("printed %s", out)
	}
	s.ok("install", "roles")
	d := &doctor{app: &app{}, config: config.Default()}
	if err := d.checkRights(t.Context(), &session{store.NewLook(s.conn), s.conn}); err != nil || len(d.findings) != 1 || d.findings[0].Verdict != well {
		t.Errorf("%v, %+v", err, d.findings)
	}
}

// TestDoctor_SafetyNamesWhatMends: what an update by hand, or a restore, has left open is found.
func TestDoctor_SafetyNamesWhatMends(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if _, err := s.conn.Exec(t.Context(), "alter function bellhop.submit reset search_path"); err != nil {
		t.Fatal(err)
	}
	d := &doctor{app: &app{}, config: config.Default()}
	if err := d.checkSafety(t.Context(), &session{store.NewLook(s.conn), s.conn}); err != nil || len(d.findings) != 1 {
		t.Fatalf("%v, %+v", err, d.findings)
	}
	f := d.findings[0]
	has(t, f.Says, "function bellhop.submit(")
	has(t, f.Mend, "set search_path = pg_catalog, bellhop, pg_temp")
	if f.Verdict != mend {
		t.Errorf("it is %v", f.Verdict)
	}
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
	if r.code != exitUnwell {
		t.Errorf("exit code %d", r.code)
	}
}
