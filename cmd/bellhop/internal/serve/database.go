package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/pgdev"
	"bellhop/sql/migrate"
)

// serveDatabase finds the database, or starts one, and migrates it if it is embedded or has no schema yet.
func serveDatabase(
	ctx context.Context, a *cli.App, c config.Config, log *slog.Logger,
) (where cli.Database, stop func(), err error) {
	stop = func() {}
	where, err = a.ServedDatabase()
	embedded := err != nil && c.Database.URL == ""
	if err == nil && where.Embedded {
		embedded = true
	}
	if embedded {
		log.Info("no database is named: starting an embedded PostgreSQL, which is kept", "dir", a.DataDir, "elsewhere", "--data-dir DIR")
		cluster, err := pgdev.Start(ctx, pgdev.Config{Dir: a.DataDir, Durable: true, Programs: a.Programs(), Log: log})
		if err != nil {
			return cli.Database{}, nil, cli.Failed(cli.ExitNoDatabase, "no database", "", "%s", err)
		}
		log.Info("embedded PostgreSQL", "dir", a.DataDir, "psql", "psql '"+cluster.URL()+"'")
		stop = func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := cluster.Stop(ctx); err != nil {
				log.Error("embedded PostgreSQL did not stop", "error", err)
			}
		}
		where = cli.Database{URL: cluster.URL(), From: "the embedded server under " + a.DataDir, Embedded: true}
	} else if err != nil {
		return cli.Database{}, nil, err
	} else if err := looked(func() (err error) {
		where, err = direct(ctx, a, where, c.Database.ListenURL, log)
		return err
	}); err != nil {
		return cli.Database{}, nil, err
	}
	if err := Prepare(ctx, a, where, log); err != nil {
		stop()
		return cli.Database{}, nil, err
	}
	return where, stop, nil
}

// direct gives the way to the server itself. An instance needs connections of its own: it listens on one, waits at
// the gate on another, and sets on others how statements are planned; behind a pooler each of these may change
// hands.
func direct(
	ctx context.Context, a *cli.App, where cli.Database, listenURL string, log *slog.Logger,
) (cli.Database, error) {
	is, err := isPooled(ctx, a, where)
	if err != nil || !is && listenURL == "" {
		return where, err
	}
	straight := cli.Database{URL: listenURL, From: "database.listen_url"}
	if listenURL != "" {
		if alsoIs, err := isPooled(ctx, a, straight); err != nil {
			return where, err
		} else if !alsoIs {
			if is {
				log.Info("the database's URL leads through a pooler: all connections are made to database.listen_url", "named_by", where.From)
				return straight, nil
			}
			return where, nil
		}
		where = straight
	}
	return where, cli.Usage("serve", where.From+" leads through a pooler (PgBouncer or its like), and the scheduler needs connections of its own",
		"set database.listen_url to the server itself; apps, and all other commands, may go through the pooler")
}

func isPooled(ctx context.Context, a *cli.App, where cli.Database) (bool, error) {
	conn, err := a.Dial(ctx, where, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	return cli.Pooled(ctx, conn)
}

// looks is how often a first look at the database is tried.
const looks = 5

// looked repeats a look whose session the server has ended for silence: the login's own idle_session_timeout holds in
// it, and a machine that stalls is silent. Whatever the look has done, the next one finds done.
func looked(look func() error) error {
	for n := 1; ; n++ {
		err := look()
		var said *pgconn.PgError
		ended := errors.As(err, &said) && said.Code == "57P05" || pgconn.SafeToRetry(err)
		if !ended || n == looks {
			return err
		}
	}
}

// Prepare checks that a scheduler can work in the database, and migrates it
// when it is embedded or has no schema at all.
func Prepare(ctx context.Context, a *cli.App, where cli.Database, log *slog.Logger) error {
	return looked(func() error { return prepare(ctx, a, where, log) })
}

func prepare(ctx context.Context, a *cli.App, where cli.Database, log *slog.Logger) error {
	conn, err := a.Dial(ctx, where, nil)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	var version int
	var readOnly bool
	if err := conn.QueryRow(ctx, "select current_setting('server_version_num')::int, pg_is_in_recovery() or current_setting('transaction_read_only')::bool").
		Scan(&version, &readOnly); err != nil {
		return err
	}
	switch {
	case version < 140000:
		return cli.Failed(cli.ExitNoDatabase, "database too old", "use PostgreSQL 14 or newer", "the server is PostgreSQL %d.%d", version/10000, version%100)
	case readOnly:
		return cli.Failed(cli.ExitNoDatabase, "database is read-only", "name the primary; with several hosts in the URL add target_session_attrs=read-write",
			"the server (named by %s) takes no writes: a standby, or default_transaction_read_only is on", where.From)
	}
	if _, err := conn.Exec(ctx, "set idle_session_timeout = 0"); err != nil { // it is silent while others migrate
		return err
	}
	plan, err := cli.Schema()
	if err != nil {
		return err
	}
	if err := migrate.WaitForOthers(ctx, conn, func() {
		log.Info("the database is being migrated by another process; waiting for its end")
	}); err != nil {
		return err
	}
	err = plan.Check(ctx, conn)
	if where.Embedded || errors.Is(err, migrate.ErrEmpty) {
		if err := migrateUp(ctx, a, plan, conn, log); cli.IsDenied(err) {
			return cli.Failed(cli.ExitDenied, "serve", "as the database's owner: bellhop migrate", "there is no schema bellhop yet, and this login may not create it: %s", cli.Flat(err.Error()))
		} else if err != nil {
			return err
		}
	} else if err != nil && !cli.IsDenied(err) {
		return err
	}
	return checkLogin(ctx, conn)
}

func migrateUp(ctx context.Context, a *cli.App, plan migrate.Plan, conn *pgx.Conn, log *slog.Logger) error {
	steps, err := plan.Run(ctx, conn)
	if err == nil && len(steps) > 0 {
		log.Info("schema is up to date", "version", plan.Version(), "steps", len(steps))
	}
	return err
}
