// Package serve is `bellhop serve`: an instance from its configuration to its end.
//
// wire.go sees a port of the tree and what implements it, as nothing else does but
// client/worker/wire.go, which wires handlers inside an app. The package decides
// nothing about jobs.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/observability"
	"bellhop/observability/crash"
	"bellhop/pgdev"
	"bellhop/scheduler"
	"bellhop/sql/migrate"
)

func Command(a *cli.App) *cobra.Command {
	s := Config{Config: a.LoadConfig}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run one instance of the scheduler",
		Long: `Runs one instance until it is told to stop. Several may share one database, on
this machine or on others; they take over from each other.

Without a database URL it starts a PostgreSQL of its own, kept under --data-dir.

SIGINT finishes what runs and starts nothing (a second one: as SIGTERM).
SIGTERM stops claiming, gives running work instance.grace, kills the children,
gives their jobs back and exits.
SIGHUP takes what has changed in the configuration, as bellhop reload does, and
prints the summary. SIGUSR1 prints what runs, waits and is dead, and a line a child;
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
		Args: a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return Run(cmd.Context(), a, s) },
	}
	cmd.Flags().StringVar(&s.listen, "listen", "", "`address` of pages, API, /healthz, /readyz and /metrics (default 127.0.0.1:8470)")
	cmd.Flags().StringVar(&s.tokenFile, "token-file", "", "`file` (mode 0600) with the token that it asks for, but for /healthz and /readyz; or BELLHOP_TOKEN")
	cmd.Flags().BoolVarP(&s.here, "here", "H", false, "the configuration as it is, with every host replaced by this machine")
	cmd.Flags().BoolVarP(&s.Recover, "recover", "R", false, "first give back what dead instances have left")
	cmd.Flags().BoolVarP(&s.stdin, "stdin", "I", false, "take jobs from stdin: no queue, no database")
	cmd.Flags().StringToStringVar(&s.vars, "var", nil, "with -I: a `NAME=VALUE` that the jobs have; more than once for more")
	cmd.Flags().BoolVarP(&s.verbose, "verbose", "v", false, "log at debug level")
	return cmd
}

// Config is how one instance is to be run.
type Config struct {
	listen, tokenFile             string
	here, verbose, Recover, stdin bool
	vars                          map[string]string // of the jobs from stdin
	Config                        func() (config.Config, error)
	Listen                        string            // its address, where no flag names one
	Quiet                         bool              // warnings only: somebody looks at the terminal for something else
	Opened                        func(addr string) // it answers there; nil: nobody wants to know
	// runs until ctx ends; nil: nothing
	Beside func(ctx context.Context, url string, log *slog.Logger)
}

// Run runs an instance to its end, and the program that has replaced this one after it.
func Run(ctx context.Context, a *cli.App, s Config) error {
	program := cli.OwnProgram()
	err := serveOnce(ctx, a, s, program)
	if errors.Is(err, errRenew) {
		return renewed(program)
	}
	return err
}

func serveOnce(ctx context.Context, a *cli.App, s Config, program string) error {
	level := slog.LevelInfo
	switch {
	case s.verbose:
		level = slog.LevelDebug
	case s.stdin, s.Quiet: // who tries an agent looks at that
		level = slog.LevelWarn
	}
	outage := observability.NewOutage(isAway)
	log := outage.Through(observability.Logger(a.Stderr, level, false))
	if os.Getenv("GOGC") == "" {
		// A heap of a few MB would be collected many times a second while a
		// queue is worked off: a quarter of the scheduler's processor time.
		debug.SetGCPercent(400)
	}
	load := func() (config.Config, error) {
		c, err := s.Config()
		for i := range c.Hosts {
			if s.here {
				c.Hosts[i].Connect = nil
			}
		}
		return c, err
	}
	c, err := load()
	if err != nil {
		return err
	}
	file := c
	if s.here {
		log.Warn("every host is this machine (-H)", "hosts", len(c.Hosts))
	}
	tokens, err := a.WebTokens(c, s.tokenFile)
	if err != nil {
		return cli.Usage("serve", err.Error(), "bellhop serve --token-file FILE")
	}
	// Before anything is started, so that no signal finds us half way.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, served...)
	defer signal.Stop(signals)

	if s.stdin {
		return serveStdin(ctx, a, c, s, signals, log)
	}
	var running atomic.Pointer[Instance]
	site, err := s.site(c, tokens, func() string {
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
	where, stopDatabase, err := serveDatabase(ctx, a, c, log)
	if err != nil {
		return err
	}
	defer stopDatabase()
	if c.CommandsFromDatabase == nil {
		c.CommandsFromDatabase = &where.Embedded
	}
	if s.Recover {
		if err := reclaim(ctx, where.URL, log); err != nil {
			return err
		}
	}
	if err := checkQueries(ctx, a, c, log); err != nil {
		return err
	}
	if c.Database.MSQURL == "" {
		level := slog.LevelWarn
		if where.Embedded { // it has but one login, and nobody else's data
			level = slog.LevelDebug
		}
		log.Log(ctx, level, "queries of MSQ jobs run with the scheduler's own rights: set database.msq_url to a login of their own")
	}
	if c.Production && c.Database.AttachURL == "" {
		log.Warn("attached tables run only where bellhop_attach is let in without a password: set database.attach_url",
			"next", "bellhop doctor")
	}
	if os.Geteuid() == 0 && slices.ContainsFunc(c.Agents, func(a config.Agent) bool { return a.User == "" }) {
		log.Warn("agents run as root, as this instance does: name an account of few rights for each", "next", "agents[].user in bellhop.yaml")
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
	// From its first moment: a crash is likeliest where something has just changed.
	helper, err := crash.Start(os.Stderr)
	if err != nil {
		log.Warn("a crash would not tell the last summary", "error", err)
	} else {
		defer helper.Stop()
		helper.Hold(time.Now().Format(time.RFC3339) + " it was just starting, and ran nothing\n")
	}
	c.Listen = site.Addr() // as it is, and is told
	i, err := Start(c, where.URL, stop, outage.Back, a.Stderr, log)
	if err != nil {
		return err
	}
	running.Store(i)
	if helper != nil {
		watched, end := context.WithCancel(ctx)
		defer end()
		go holdSummaries(watched, i, helper.Hold, c.Instance.Heartbeat)
	}
	closeRooms, err := openRooms(site, c, where.URL, i, log)
	if err != nil {
		return err
	}
	defer closeRooms()
	if s.Opened != nil {
		s.Opened(site.Addr())
	}
	defer answerFrontEnd(c, where.URL, stop, log)()
	log.Info("bellhop serves", "pages", site.At("/"), "hosts", len(c.Hosts), "agents", len(c.Agents),
		"pid", os.Getpid())
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if s.Beside != nil {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Beside(watching, where.URL, log)
		}()
		defer func() { unwatch(); <-ended }()
	}
	go rest(watching, i.Gate, c.Instance.Heartbeat/2)
	go watchProgram(watching, program, renewEvery, log, signals)
	m := &manager{log: log}
	go m.attend(watching, i)
	again := &reloader{load: load, file: file, commands: c.CommandsFromDatabase, instance: i, log: log}
	return waitForStop(i, c.Instance.Grace, signals, m, again.reload, a.Stderr, log)
}

// serveDatabase finds the database, or starts one, and brings up its schema
// where nobody can mind: in an embedded one, and in one that has none yet.
func serveDatabase(
	ctx context.Context, a *cli.App, c config.Config, log *slog.Logger,
) (where cli.Database, stop func(), err error) {
	stop = func() {}
	where, err = a.FindDatabase()
	embedded := err != nil && c.Database.URL == ""
	if err == nil && where.Embedded {
		embedded = true
	}
	if embedded {
		log.Info("no database is named: a PostgreSQL of its own is started, and kept", "dir", a.DataDir, "elsewhere", "--data-dir DIR")
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
	} else if where, err = direct(ctx, a, where, c.Database.ListenURL, log); err != nil {
		return cli.Database{}, nil, err
	}
	if err := Prepare(ctx, a, where, log); err != nil {
		stop()
		return cli.Database{}, nil, err
	}
	return where, stop, nil
}

// direct gives the way to the server itself. An instance needs connections of
// its own: it listens on one, waits at the gate on another, and sets on others
// how statements are planned; behind a pooler each of these is somebody else's.
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

// Prepare checks that a scheduler can work in the database, and migrates it
// when it is embedded or has no schema at all.
func Prepare(ctx context.Context, a *cli.App, where cli.Database, log *slog.Logger) error {
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
			return cli.Failed(cli.ExitDenied, "serve", "as the database's owner: bellhop migrate", "there is no schema bellhop yet, and this login may not make it: %s", cli.Flat(err.Error()))
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
