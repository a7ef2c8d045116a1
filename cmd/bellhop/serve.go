package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/config"
	"bellhop/observability"
	"bellhop/observability/crash"
	"bellhop/pgdev"
	"bellhop/scheduler"
	"bellhop/sql/migrate"
)

func serveCommand(a *app) *cobra.Command {
	s := serving{config: a.loadConfig}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one instance of the scheduler",
		Long: `Runs one instance until it is told to stop. Several may share one database, on
this machine or on others; they take over from each other.

Without a database URL it starts a PostgreSQL of its own, kept under --data-dir.

SIGINT finishes what runs and starts nothing (a second one: as SIGTERM).
SIGTERM stops claiming, gives running work instance.grace, kills the children,
gives their jobs back and exits.
SIGUSR1 and SIGHUP print what runs, waits and is dead, and a line a child;
SIGUSR2 prints every query (MSQ job) that is held. So does a crash.

-R gives back at once, before anything else, what dead instances have left;
instances that live are safe.

When another program takes the place of this one's file, what runs is finished,
nothing is started, and the new program goes on in the same process.

-I takes jobs from stdin, without a queue or a database, to try agents: a line
"TYPE ARGS" is a job, with "!" in front an urgent one, "wait TYPE" waits for the
jobs of a type. "var NAME=VALUE", and --var, give the jobs behind it a var. It
ends when all are over; exit code 1 where one failed.`,
		Example: `  bellhop serve -c bellhop.yaml
  printf 'license /srv/a.c\n!license /srv/b.c\n' | bellhop serve -I
  DATABASE_URL=postgres://app@db/app bellhop serve`,
		Args: a.noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), s) },
	}
	cmd.Flags().StringVar(&s.listen, "listen", "", "`address` of /healthz, /readyz and /metrics (default 127.0.0.1:8470)")
	cmd.Flags().StringVar(&s.tokenFile, "token-file", "", "`file` (mode 0600) with the token that it asks for, but for /healthz and /readyz; or BELLHOP_TOKEN")
	cmd.Flags().BoolVarP(&s.here, "here", "H", false, "the configuration as it is, with every host replaced by this machine")
	cmd.Flags().BoolVarP(&s.recover, "recover", "R", false, "first give back what dead instances have left")
	cmd.Flags().BoolVarP(&s.stdin, "stdin", "I", false, "take jobs from stdin: no queue, no database")
	cmd.Flags().StringToStringVar(&s.vars, "var", nil, "with -I: a `NAME=VALUE` that the jobs have; more than once for more")
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false, "log at debug level")
	return cmd
}

// serving is how one instance is to be run.
type serving struct {
	listen, tokenFile             string
	here, verbose, recover, stdin bool
	vars                          map[string]string // of the jobs from stdin
	config                        func() (config.Config, error)
	beside                        func(ctx context.Context, url string, log *slog.Logger) // runs until ctx ends; nil: nothing
}

// serve runs an instance to its end, and the program that has replaced this one after it.
func (a *app) serve(ctx context.Context, s serving) error {
	program := ownProgram()
	err := a.serveOnce(ctx, s, program)
	if errors.Is(err, errRenew) {
		return renewed(program)
	}
	return err
}

func (a *app) serveOnce(ctx context.Context, s serving, program string) error {
	level := slog.LevelInfo
	switch {
	case s.verbose:
		level = slog.LevelDebug
	case s.stdin: // who tries an agent looks at that
		level = slog.LevelWarn
	}
	outage := observability.NewOutage(isAway)
	log := outage.Through(observability.Logger(a.stderr, level, false))
	if os.Getenv("GOGC") == "" {
		// A heap of a few MB would be collected many times a second while a
		// queue is worked off: a quarter of the scheduler's processor time.
		debug.SetGCPercent(400)
	}
	c, err := s.config()
	if err != nil {
		return err
	}
	if s.here {
		for i := range c.Hosts {
			c.Hosts[i].Connect = nil
		}
		log.Warn("every host is this machine (-H)", "hosts", len(c.Hosts))
	}
	token, err := a.webToken(c, s.tokenFile)
	if err != nil {
		return usage("serve", err.Error(), "bellhop serve --token-file FILE")
	}
	// Before anything is started, so that no signal finds us half way.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, served...)
	defer signal.Stop(signals)

	if s.stdin {
		return a.serveStdin(ctx, c, s, signals, log)
	}
	var running atomic.Pointer[instance]
	site, err := s.site(c, token, func() string {
		if i := running.Load(); i != nil {
			return i.Healthy()
		}
		return "starting"
	}, func() http.Handler {
		if i := running.Load(); i != nil {
			return i.telemetry.metrics.Handler()
		}
		return nil
	}, log)
	if err != nil {
		return err
	}
	defer site.Close()
	where, stopDatabase, err := a.serveDatabase(ctx, c, log)
	if err != nil {
		return err
	}
	defer stopDatabase()
	if c.CommandsFromDatabase == nil {
		c.CommandsFromDatabase = &where.embedded
	}
	if s.recover {
		if err := reclaim(ctx, where.url, log); err != nil {
			return err
		}
	}
	if err := a.checkQueries(ctx, c, log); err != nil {
		return err
	}
	if c.Database.MSQURL == "" {
		if c.Production {
			return usage("serve", "production is true, and database.msq_url is not set: queries of MSQ jobs would run with the scheduler's own rights",
				"name a login of their own under database.msq_url")
		}
		level := slog.LevelWarn
		if where.embedded { // it has but one login, and nobody else's data
			level = slog.LevelDebug
		}
		log.Log(ctx, level, "queries of MSQ jobs run with the scheduler's own rights: set database.msq_url to a login of their own")
	}
	if c.Production && c.Database.AttachURL == "" {
		log.Warn("attached tables run only where bellhop_attach is let in without a password: set database.attach_url",
			"next", "bellhop doctor")
	}
	if len(c.Agents) == 0 {
		log.Warn("no agents are configured: jobs will wait", "next", "copy bellhop.example.yaml to bellhop.yaml")
	}
	for _, a := range c.Agents {
		if a.FOSSology.Exclusive {
			log.Info("an exclusive agent is alone on this instance; other instances go on beside it", "type", a.Type)
		}
	}
	stop := func(how scheduler.Stop) { // the same as if somebody had sent the signal
		sig := syscall.SIGINT
		if how == scheduler.StopNow {
			sig = syscall.SIGTERM
		}
		select {
		case signals <- sig:
		default: // several wait to be heard already
		}
	}
	i, err := startInstance(c, where.url, stop, outage.Back, a.stderr, log)
	if err != nil {
		return err
	}
	running.Store(i)
	defer answerFrontEnd(c, where.url, stop, log)()
	log.Info("bellhop serves", "hosts", len(c.Hosts), "agents", len(c.Agents), "pid", os.Getpid())
	if w, err := crash.Start(os.Stderr); err != nil {
		log.Warn("a crash would not tell the last summary", "error", err)
	} else {
		watched, end := context.WithCancel(ctx)
		defer w.Stop()
		defer end()
		go holdSummaries(watched, i, w.Hold, c.Instance.Heartbeat)
	}
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if s.beside != nil {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.beside(watching, where.url, log)
		}()
		defer func() { unwatch(); <-ended }()
	}
	go rest(watching, i.Gate, c.Instance.Heartbeat/2)
	go watchProgram(watching, program, renewEvery, log, signals)
	m := &manager{log: log}
	go m.attend(watching, i)
	return waitForStop(i, c.Instance.Grace, signals, m, a.stderr, log)
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
func (a *app) serveDatabase(ctx context.Context, c config.Config, log *slog.Logger) (where place, stop func(), err error) {
	stop = func() {}
	where, err = a.findDatabase()
	embedded := err != nil && c.Database.URL == ""
	if err == nil && where.embedded {
		embedded = true
	}
	if embedded {
		log.Info("no database is named: a PostgreSQL of its own is started, and kept", "dir", a.dataDir, "elsewhere", "--data-dir DIR")
		cluster, err := pgdev.Start(ctx, pgdev.Config{Dir: a.dataDir, Durable: true, Programs: a.programs(), Log: log})
		if err != nil {
			return place{}, nil, failed(exitNoDatabase, "no database", "", "%s", err)
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
		return place{}, nil, err
	} else if where, err = a.direct(ctx, where, c.Database.ListenURL, log); err != nil {
		return place{}, nil, err
	}
	if err := a.prepare(ctx, where, log); err != nil {
		stop()
		return place{}, nil, err
	}
	return where, stop, nil
}

// direct gives the way to the server itself. An instance needs connections of
// its own: it listens on one, waits at the gate on another, and sets on others
// how statements are planned; behind a pooler each of these is somebody else's.
func (a *app) direct(ctx context.Context, where place, listenURL string, log *slog.Logger) (place, error) {
	is, err := a.isPooled(ctx, where)
	if err != nil || !is && listenURL == "" {
		return where, err
	}
	straight := place{url: listenURL, from: "database.listen_url"}
	if listenURL != "" {
		if alsoIs, err := a.isPooled(ctx, straight); err != nil {
			return where, err
		} else if !alsoIs {
			if is {
				log.Info("the database's URL leads through a pooler: all connections are made to database.listen_url", "named_by", where.from)
				return straight, nil
			}
			return where, nil
		}
		where = straight
	}
	return where, usage("serve", where.from+" leads through a pooler (PgBouncer or its like), and the scheduler needs connections of its own",
		"set database.listen_url to the server itself; apps, and all other commands, may go through the pooler")
}

func (a *app) isPooled(ctx context.Context, where place) (bool, error) {
	conn, err := a.dial(ctx, where, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it is not needed any more
	return pooled(ctx, conn)
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
		if err := a.migrateUp(ctx, plan, conn, log); isDenied(err) {
			return failed(exitDenied, "serve", "as the database's owner: bellhop migrate", "there is no schema bellhop yet, and this login may not make it: %s", flat(err.Error()))
		} else if err != nil {
			return err
		}
	} else if err != nil && !isDenied(err) {
		return err
	}
	return checkLogin(ctx, conn)
}

func (a *app) migrateUp(ctx context.Context, plan migrate.Plan, conn *pgx.Conn, log *slog.Logger) error {
	steps, err := plan.Run(ctx, conn)
	if err == nil && len(steps) > 0 {
		log.Info("schema is up to date", "version", plan.Version(), "steps", len(steps))
	}
	return err
}
