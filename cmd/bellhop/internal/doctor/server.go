package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/sql/view"
)

const (
	oldestServer = 140000 // server_version_num
	// clockApart is how far this machine's clock may be from the database's.
	// Nothing is decided by it; but logs are read side by side.
	clockApart = 2 * time.Second
	// diskLeft is what an embedded server's disk should have free.
	diskLeft = 1 << 30
	// deadRows is how many dead rows vacuum may leave, beyond as many as live.
	deadRows = 1_000_000
	// bigTable is when it is said that rows can be deleted.
	bigTable = 10 << 30
)

// checkServer judges what the server said of itself; it was asked then.
func (d *doctor) checkServer(s view.ServerRow, asked time.Time) {
	version := fmt.Sprintf("PostgreSQL %d.%d, database %s, named by %s", s.Version/10000, s.Version%10000, s.Database,
		d.where.From)
	if s.Version < oldestServer {
		d.mend("server", version+": too old", "use PostgreSQL 14 or newer")
	} else {
		d.ok("server", version)
	}
	if apart := max(asked.Sub(s.Clock), time.Until(s.Clock)); apart > clockApart {
		d.mend("clock", fmt.Sprintf("the database's clock and this machine's are %s apart", apart.Round(time.Second)), "timedatectl set-ntp true   # on both machines")
	} else {
		d.ok("clock", "the database's clock and this machine's agree")
	}
	d.found(report.JudgeServer(s))
}

// checkEmbedded is about a server that bellhop has started.
func (d *doctor) checkEmbedded(server view.ServerRow) {
	if !d.where.Embedded {
		return
	}
	free, err := diskFree(d.DataDir)
	switch {
	case err != nil:
		d.note("data folder", err.Error(), "")
	case free < diskLeft:
		d.mend("data folder", fmt.Sprintf("%s has %d MB left on its disk", d.DataDir, free>>20), "bellhop prune --older-than 3d   # or move "+filepath.Join(d.DataDir, "data")+" to another disk, and leave a link")
	default:
		d.ok("data folder", fmt.Sprintf("%s has %d GB left on its disk", d.DataDir, free>>30))
	}
}

// checkGrowth looks at the sizes of tables.
func (d *doctor) checkGrowth(ctx context.Context, s *cli.Session) error {
	tables, err := s.Growth(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		switch {
		case t.Dead > t.Rows+deadRows:
			d.mend("growth", fmt.Sprintf("%s has %d dead rows beside %d", t.Name, t.Dead, t.Rows),
				d.psql("vacuum (analyze) "+t.Name))
		case t.Bytes > bigTable:
			d.note("growth", fmt.Sprintf("%s has %d GB, about %d rows", t.Name, t.Bytes>>30, t.Rows), "bellhop prune --older-than 30d")
		}
	}
	if len(tables) > 0 {
		d.ok("growth", fmt.Sprintf("the biggest table is %s: %d MB", tables[0].Name, tables[0].Bytes>>20))
	}
	return nil
}
