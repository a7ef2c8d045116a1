package doctor

import (
	"strings"
	"testing"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/sql/view"
)

// TestDoctor_ServersThatCannotBeMadeHere: what a test cannot bring about, such
// as a full queue of 8 GB, is judged from its row all the same.
func TestDoctor_ServersThatCannotBeMadeHere(t *testing.T) {
	t.Parallel()
	well := func() view.ServerRow {
		return view.ServerRow{Version: 150018, Fsync: true, FullPageWrites: true, SynchronousCommit: "on", Autovacuum: true,
			Clock: time.Now(), MaxConnections: 100, Connections: 10, Database: "app"}
	}
	for name, tt := range map[string]struct {
		ill          func(*view.ServerRow)
		check, mends string
	}{
		"nothing":   {func(*view.ServerRow) {}, "", ""},
		"too old":   {func(s *view.ServerRow) { s.Version = 130010 }, "server", "PostgreSQL 14 or newer"},
		"a standby": {func(s *view.ServerRow) { s.Standby, s.ReadOnly = true, true }, "writable", "target_session_attrs=read-write"},
		"an hour":   {func(s *view.ServerRow) { s.Clock = s.Clock.Add(-time.Hour) }, "clock", "timedatectl"},
		"full":      {func(s *view.ServerRow) { s.NotifyUsage = 0.11 }, "notifications", "pg_terminate_backend"},
		"crowded":   {func(s *view.ServerRow) { s.Connections = 91 }, "connections", "max_connections = 200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &doctor{App: &cli.App{}, where: cli.Database{URL: "postgres://x", From: "a test"}}
			s := well()
			tt.ill(&s)
			d.checkServer(s, time.Now())
			var mends []report.Finding
			for _, f := range d.findings {
				if f.Verdict == report.Mend {
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
