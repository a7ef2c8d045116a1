package serve

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/observability"
	"bellhop/observability/crash"
	"bellhop/scheduler"
	"bellhop/web"
)

// once is one run of an instance in this process: from its configuration to its end, or until another program has taken
// the place of this one's file.
type once struct {
	app     *cli.App
	how     Config
	log     *slog.Logger
	outage  *observability.Outage
	file    config.Config // as the file has it
	c       config.Config // as the instance uses it
	signals chan os.Signal
	running atomic.Pointer[Instance]
	closers []func() // called in reverse order
}

func (o *once) atEnd(f func()) { o.closers = append(o.closers, f) }

func (o *once) close() {
	for _, f := range slices.Backward(o.closers) {
		f()
	}
}

func serveOnce(ctx context.Context, a *cli.App, s Config, program string) error {
	o := &once{app: a, how: s}
	defer o.close()
	tokens, err := o.configure()
	if err != nil {
		return err
	}
	if s.stdin {
		return serveStdin(ctx, a, o.c, s, o.signals, o.log)
	}
	people, err := o.people()
	if err != nil {
		return err
	}
	site, err := s.site(o.c, tokens, people, o.health, o.counts, o.log)
	if err != nil {
		return err
	}
	o.atEnd(site.Close)
	where, err := o.openDatabase(ctx)
	if err != nil {
		return err
	}
	o.warn(ctx, where)
	o.c.Listen = site.Addr() // the address that others are told
	i, err := o.start(ctx, where)
	if err != nil {
		return err
	}
	closeRooms, err := openRooms(site, o.c, where.URL, i, o.log)
	if err != nil {
		return err
	}
	o.atEnd(closeRooms)
	if s.Opened != nil {
		s.Opened(site.Addr())
	}
	o.atEnd(answerFrontEnd(o.c, where.URL, o.stop, o.log))
	o.log.Info("bellhop serves", "pages", site.At("/"), "hosts", len(o.c.Hosts),
		"agents", len(o.c.Agents), "pid", os.Getpid())
	return o.attend(ctx, i, where, program)
}

// configure reads the configuration, opens the log and takes signals, before anything is started: so no signal finds a
// half-started instance.
func (o *once) configure() ([]web.Token, error) {
	level := slog.LevelInfo
	switch {
	case o.how.verbose:
		level = slog.LevelDebug
	case o.how.stdin, o.how.Quiet: // the terminal is used for something else
		level = slog.LevelWarn
	}
	o.outage = observability.NewOutage(isAway)
	o.log = o.outage.Through(observability.Logger(o.app.Stderr, level, o.how.Quiet))
	if os.Getenv("GOGC") == "" {
		// A heap of a few MB would be collected many times a second while a
		// queue is worked off: a quarter of the scheduler's processor time.
		debug.SetGCPercent(400)
	}
	c, err := o.load()
	if err != nil {
		return nil, err
	}
	o.file, o.c = c, c
	if o.how.here {
		o.log.Warn("every host is this machine (-H)", "hosts", len(c.Hosts))
	}
	tokens, err := o.app.WebTokens(c, o.how.tokenFile)
	if err != nil {
		return nil, cli.Usage("serve", err.Error(), "bellhop serve --token-file FILE")
	}
	o.signals = make(chan os.Signal, 8)
	signal.Notify(o.signals, served...)
	o.atEnd(func() { signal.Stop(o.signals) })
	return tokens, nil
}

// load reads the configuration; with -H every host is this machine.
func (o *once) load() (config.Config, error) {
	c, err := o.how.Config()
	if o.how.here {
		for i := range c.Hosts {
			c.Hosts[i].Connect = nil
		}
	}
	return c, err
}

func (o *once) health() string {
	if i := o.running.Load(); i != nil {
		return i.Healthy()
	}
	return "starting"
}

func (o *once) counts() http.Handler {
	if i := o.running.Load(); i != nil {
		return i.telemetry.metrics.Handler()
	}
	return nil
}

// stop does what the signal for it does.
func (o *once) stop(how scheduler.Stop) {
	sig := syscall.SIGINT
	if how == scheduler.StopNow {
		sig = syscall.SIGTERM
	}
	select {
	case o.signals <- sig:
	default: // several signals are pending already
	}
}

// openDatabase finds or starts the database, and tries the logins that queries run as.
func (o *once) openDatabase(ctx context.Context) (cli.Database, error) {
	where, stop, err := serveDatabase(ctx, o.app, o.c, o.log)
	if err != nil {
		return where, err
	}
	o.atEnd(stop)
	if o.c.CommandsFromDatabase == nil {
		o.c.CommandsFromDatabase = &where.Embedded
	}
	if o.how.Recover {
		if err := reclaim(ctx, where.URL, o.log); err != nil {
			return where, err
		}
	}
	return where, checkQueries(ctx, o.app, o.c, o.log)
}

// warn tells of a configuration that works and may surprise.
func (o *once) warn(ctx context.Context, where cli.Database) {
	c, log := o.c, o.log
	if c.Database.MSQURL == "" {
		level := slog.LevelWarn
		if where.Embedded { // it has one login, and no data of others
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
			log.Info("an exclusive agent is alone on this instance only; other instances go on beside it", "type", a.Type)
		}
	}
}

// start starts the tree. The helper that tells the last summary after a crash comes first: a crash is likeliest in the
// first moments.
func (o *once) start(ctx context.Context, where cli.Database) (*Instance, error) {
	helper, err := crash.Start(os.Stderr)
	if err != nil {
		o.log.Warn("a crash would not tell the last summary", "error", err)
	} else {
		o.atEnd(helper.Stop)
		helper.Hold(time.Now().Format(time.RFC3339) + " it was just starting, and ran nothing\n")
	}
	i, err := Start(o.c, where.URL, o.stop, o.outage.Back, heirsOf(where), o.app.Stderr, o.log)
	if err != nil {
		return nil, err
	}
	o.running.Store(i)
	if helper != nil {
		watched, end := context.WithCancel(ctx)
		o.atEnd(end)
		go holdSummaries(watched, i, helper.Hold, o.c.Instance.Heartbeat)
	}
	return i, nil
}

// attend does what has to be done beside a running instance, until it is told to stop.
func (o *once) attend(ctx context.Context, i *Instance, where cli.Database, program string) error {
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if o.how.Beside != nil {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			o.how.Beside(watching, where.URL, o.log)
		}()
		defer func() { unwatch(); <-ended }()
	}
	go rest(watching, i.Gate, o.c.Instance.Heartbeat/2)
	fits := func(ctx context.Context, schema int) error { return servable(ctx, o.app, where, schema) }
	go watchProgram(watching, program, renewEvery, fits, o.log, o.signals)
	m := &manager{log: o.log}
	go m.attend(watching, i)
	again := &reloader{load: o.load, file: o.file, commands: o.c.CommandsFromDatabase, instance: i, log: o.log}
	return waitForStop(i, ending{o.c.Instance.Grace, o.how.Brisk}, o.signals, m, again.reload, o.app.Stderr, o.log)
}
