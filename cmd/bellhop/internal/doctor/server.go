package doctor

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/store"
)

const (
	oldestServer = 140000 // server_version_num
	// clockApart is how far this machine's clock may be from the database's.
	// Nothing is decided by it; but logs are read side by side.
	clockApart = 2 * time.Second
	// notifyFull is how full the notification queue may be. When it is full,
	// the commits of all who ring fail.
	notifyFull = 0.1
	// perInstance is how many connections an instance has at the most, besides
	// one for each MSQ job that is read and one for each agent with DB:.
	perInstance = 10
	// diskLeft is what an embedded server's disk should have free.
	diskLeft = 1 << 30
	// deadRows is how many dead rows vacuum may leave, beyond as many as live.
	deadRows = 1_000_000
	// bigTable is when it is said that rows can be deleted.
	bigTable = 10 << 30
)

// checkServer judges what the server said of itself; it was asked then.
func (d *doctor) checkServer(s store.ServerRow, asked time.Time) {
	version := fmt.Sprintf("PostgreSQL %d.%d, database %s, named by %s", s.Version/10000, s.Version%10000, s.Database,
		d.where.From)
	if s.Version < oldestServer {
		d.mend("server", version+": too old", "use PostgreSQL 14 or newer")
	} else {
		d.ok("server", version)
	}
	switch {
	case s.Standby:
		d.mend("writable", "the server is a standby: it takes no writes", "name the primary; with several hosts in the URL add target_session_attrs=read-write")
	case s.ReadOnly:
		off := "set default_transaction_read_only = off"
		d.mend("writable", "transactions are read-only (default_transaction_read_only)",
			d.psql(off, fmt.Sprintf("alter database %s reset default_transaction_read_only", cli.Quoted(s.Database))))
	default:
		d.ok("writable", "the server takes writes")
	}
	d.checkDurability(s)
	if apart := max(asked.Sub(s.Clock), time.Until(s.Clock)); apart > clockApart {
		d.mend("clock", fmt.Sprintf("the database's clock and this machine's are %s apart", apart.Round(time.Second)), "timedatectl set-ntp true   # on both machines")
	} else {
		d.ok("clock", "the database's clock and this machine's agree")
	}
	if s.NotifyUsage > notifyFull {
		d.mend("notifications", fmt.Sprintf("the notification queue is %.0f%% full: a listener sits in a transaction; when it is full, inserts fail", 100*s.NotifyUsage),
			d.psql("select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in transaction%' and xact_start < now() - interval '1 minute'"))
	} else {
		d.ok("notifications", fmt.Sprintf("the notification queue is %.0f%% full", math.Ceil(100*s.NotifyUsage)))
	}
	free := s.MaxConnections - s.Connections
	if free < perInstance {
		d.mend(
			"connections",
			fmt.Sprintf("%d of %d connections are taken; an instance needs %d", s.Connections, s.MaxConnections, perInstance),
			d.psql(
				fmt.Sprintf("alter system set max_connections = %d", s.MaxConnections+10*perInstance),
			)+"   # and restart the server",
		)
	} else {
		d.ok("connections", fmt.Sprintf("%d of %d are free; an instance needs %d", free, s.MaxConnections, perInstance))
	}
	if !s.Autovacuum {
		d.mend("autovacuum", "autovacuum is off: the queue's table and indexes only grow", d.psql("alter system set autovacuum = on", "select pg_reload_conf()"))
	} else {
		d.ok("autovacuum", "autovacuum is on")
	}
}

func (d *doctor) checkDurability(s store.ServerRow) {
	for _, setting := range []struct {
		name string
		on   bool
	}{{"fsync", s.Fsync}, {"full_page_writes", s.FullPageWrites}} {
		if !setting.on {
			d.mend("durability", setting.name+" is off: a crash of the machine can destroy the database", d.psql("alter system set "+setting.name+" = on", "select pg_reload_conf()"))
		}
	}
	if s.SynchronousCommit == "off" {
		reset := []string{"alter system set synchronous_commit = on", "select pg_reload_conf()"}
		switch s.SynchronousSource {
		case "database":
			reset = []string{fmt.Sprintf("alter database %s reset synchronous_commit", cli.Quoted(s.Database))}
		case "user":
			reset = []string{fmt.Sprintf("alter role %s reset synchronous_commit", cli.Quoted(s.Login))}
		case "database user":
			reset = []string{
				fmt.Sprintf("alter role %s in database %s reset synchronous_commit", cli.Quoted(s.Login), cli.Quoted(s.Database)),
			}
		}
		d.mend("durability", "synchronous_commit is off: a crash of the server can lose jobs whose INSERT was committed",
			d.psql(reset...))
	}
	if s.Fsync && s.FullPageWrites && s.SynchronousCommit != "off" {
		d.ok("durability", "what is committed is on the disk")
	}
}

// checkEmbedded is about a server that bellhop has started.
func (d *doctor) checkEmbedded(server store.ServerRow) {
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

// checkOpen looks for transactions that keep vacuum back.
func (d *doctor) checkOpen(ctx context.Context, s *cli.Session) error {
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	rows, err := s.Open(ctx, d.old)
	if err != nil {
		return err
	}
	if !server.SeesAll {
		d.note("transactions", server.Login+" sees only its own",
			d.psql("grant pg_read_all_stats to "+cli.Quoted(server.Login)))
	} else if len(rows) == 0 {
		d.ok("transactions", "none is open for longer than "+d.old.String())
	}
	for _, r := range rows {
		says := fmt.Sprintf("%s of %s (pid %d, %s) is in a transaction for %s: vacuum cannot clean what has changed since",
			cli.Clean(r.Name), r.Login, r.PID, r.State, cli.Age(r.Age))
		what := d.psql(fmt.Sprintf("select pg_terminate_backend(%d)", r.PID))
		if r.PID == 0 {
			says = fmt.Sprintf("the prepared transaction %s of %s is open for %s: vacuum cannot clean what has changed since",
				r.Prepared, r.Login, cli.Age(r.Age))
			what = d.psql(fmt.Sprintf("rollback prepared %s", cli.Literal(r.Prepared)))
		}
		d.mend("transactions", says, what)
	}
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
