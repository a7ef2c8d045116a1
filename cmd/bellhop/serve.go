package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/config"
	"bellhop/observability"
	"bellhop/pgdev"
	"bellhop/sql/migrate"
	"bellhop/web"
)

func serveCommand(a *app) *cobra.Command {
	var verbose bool
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one instance of the scheduler",
		Long: `Runs one instance until it is told to stop. Several may share one database, on
this machine or on others; they take over from each other.

Without a database URL it starts a PostgreSQL of its own, kept under --data-dir.

SIGINT finishes what runs and starts nothing (a second one: as SIGTERM).
SIGTERM stops claiming, gives running work instance.grace, kills the children,
gives their jobs back and exits.`,
		Example: `  bellhop serve -c bellhop.yaml
  DATABASE_URL=postgres://app@db/app bellhop serve`,
		Args: a.noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), listen, verbose) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`address` of /healthz and /readyz (default 127.0.0.1:8470)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "log at debug level")
	return cmd
}

func (a *app) serve(ctx context.Context, listen string, verbose bool) error {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	log := observability.Logger(a.stderr, level, false)
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	// Before anything is started, so that no signal finds us half way.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	defer signal.Stop(signals)

	url, stopDatabase, err := a.serveDatabase(ctx, c, log)
	if err != nil {
		return err
	}
	defer stopDatabase()
	if c.Database.MSQURL == "" {
		if c.Production {
			return usage("serve", "production is true, and database.msq_url is not set: queries of MSQ jobs would run with the scheduler's own rights",
				"name a login of their own under database.msq_url")
		}
		log.Warn("queries of MSQ jobs run with the scheduler's own rights: set database.msq_url to a login of their own")
	}
	if len(c.Agents) == 0 {
		log.Warn("no agents are configured: jobs will wait", "next", "copy bellhop.example.yaml to bellhop.yaml")
	}
	var running atomic.Pointer[instance]
	site, err := web.Listen(cmp.Or(listen, c.Listen), func() string {
		if i := running.Load(); i != nil {
			return i.Healthy()
		}
		return "starting"
	})
	switch {
	case errors.Is(err, web.ErrNoToken):
		return usage("serve", err.Error(), "bellhop serve --listen 127.0.0.1:8470")
	case err != nil: // a second instance on this machine is no reason not to schedule
		log.Warn("no web server: /healthz and /readyz are not answered", "error", err, "next", "another --listen")
	}
	i, err := startInstance(c, url, a.stderr, log)
	if err != nil {
		return err
	}
	running.Store(i)
	if site != nil {
		defer site.Close()
	}
	log.Info("bellhop serves", "hosts", len(c.Hosts), "agents", len(c.Agents), "pid", os.Getpid())
	return waitForStop(i, c.Instance.Grace, signals, log)
}

// loadConfig reads the configuration that is named, or bellhop.yaml where
// there is one, or takes the defaults.
func (a *app) loadConfig() (config.Config, error) {
	path, err := a.configFile()
	if err != nil {
		return config.Config{}, err
	}
	if path == "" {
		return config.Default(), nil
	}
	c, err := config.Load(path)
	if err != nil {
		return config.Config{}, badConfig(path, err)
	}
	return c, nil
}

// serveDatabase finds the database, or starts one, and brings up its schema
// where nobody can mind: in an embedded one, and in one that has none yet.
func (a *app) serveDatabase(ctx context.Context, c config.Config, log *slog.Logger) (url string, stop func(), err error) {
	stop = func() {}
	where, err := a.findDatabase()
	embedded := err != nil && c.Database.URL == ""
	if err == nil && where.embedded {
		embedded = true
	}
	if embedded {
		cluster, err := pgdev.Start(ctx, pgdev.Config{Dir: a.dataDir, Durable: true, Log: log})
		if err != nil {
			return "", nil, failed(exitNoDatabase, "no database", "", "%s", err)
		}
		log.Info("embedded PostgreSQL", "dir", a.dataDir, "psql", "psql '"+cluster.URL()+"'")
		stop = func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := cluster.Stop(ctx); err != nil {
				log.Error("embedded PostgreSQL did not stop", "error", err)
			}
		}
		where = place{url: cluster.URL(), from: "the embedded server under " + a.dataDir, embedded: true}
	} else if err != nil {
		return "", nil, err
	}
	if err := a.prepare(ctx, where, log); err != nil {
		stop()
		return "", nil, err
	}
	return where.url, stop, nil
}

// prepare checks that a scheduler can work in the database, and migrates it
// when it is embedded or has no schema at all.
func (a *app) prepare(ctx context.Context, where place, log *slog.Logger) error {
	conn, err := a.dial(ctx, where, nil)
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
		return failed(exitNoDatabase, "database too old", "use PostgreSQL 14 or newer", "the server is PostgreSQL %d.%d", version/10000, version%100)
	case readOnly:
		return failed(exitNoDatabase, "database is read-only", "name the primary; with several hosts in the URL add target_session_attrs=read-write",
			"the server (named by %s) takes no writes: a standby, or default_transaction_read_only is on", where.from)
	}
	plan, err := schema()
	if err != nil {
		return err
	}
	err = plan.Check(ctx, conn)
	if where.embedded || errors.Is(err, migrate.ErrEmpty) {
		return a.migrateUp(ctx, plan, conn, log)
	}
	return err
}

func (a *app) migrateUp(ctx context.Context, plan migrate.Plan, conn *pgx.Conn, log *slog.Logger) error {
	steps, err := plan.Run(ctx, conn)
	if err == nil && len(steps) > 0 {
		log.Info("schema is up to date", "version", plan.Version(), "steps", len(steps))
	}
	return err
}

// waitForStop runs until a signal ends the instance, as the help text tells.
func waitForStop(i *instance, grace time.Duration, signals <-chan os.Signal, log *slog.Logger) error {
	for sig := range signals {
		if sig == syscall.SIGHUP {
			log.Info("summary", "processes", i.Processes(), "state", i.Healthy())
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if sig == syscall.SIGINT {
			log.Info("finishing what runs, starting nothing (once more: stop now)")
			go func() {
				for again := range signals {
					if again != syscall.SIGHUP {
						cancel()
						return
					}
				}
			}()
		} else {
			log.Info("stopping", "signal", sig.String(), "grace", grace)
			timer := time.AfterFunc(grace, cancel)
			defer timer.Stop()
		}
		if err := i.stop(ctx); err != nil {
			return fmt.Errorf("stopping: %w", err)
		}
		log.Info("stopped")
		return nil
	}
	return nil
}
