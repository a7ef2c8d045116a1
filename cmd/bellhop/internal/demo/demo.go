// Package demo is `bellhop demo`: all of bellhop at work on real files, and nothing left behind.
package demo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/serve"
	"bellhop/observability"
	"bellhop/pgdev"
)

// demoFiles is how many files the demo takes unless --limit says otherwise: so
// many that there is something to see, in seconds.
const demoFiles = 5000

type demoFlags struct {
	keep  bool
	limit int
}

func Command(a *cli.App) *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Run bellhop on real files: find the licences in a folder",
		Long: `Finds the licences of the files in a folder, by default the Go module cache. It uses
a table of files, one MSQ job over the files without a licence, and agents that write
their findings into that table.

It takes every licence-like file (LICENSE, COPYING, NOTICE, COPYRIGHT and their
like) and the heads of source files, at most ` + fmt.Sprint(sourcesPerFolder) + ` of one folder, and at most
--limit files in all; it says so if there are more. An unreadable file counts as
failed, with the reason in the table. So does a file that kills its agent three times.

When the demo ends, for any reason, PostgreSQL, its folder and all processes are
gone. With --keep the database stays under --data-dir, and a second run takes only
new files. With --database-url it works in that database, in the schema demo, which
stays; drop schema demo cascade removes it. DATABASE_URL and PG* variables do not
count here.

The last line is files=N found=N none=N failed=N seconds=S; with -o json it is an
object instead. The numbers count all files of the table, those of earlier runs
included. Exit code: 0 if every file has an outcome, failed ones included, 1 if not,
2 for a folder without files, 130 after an interrupt.`,
		Example: `  bellhop demo
  bellhop demo ~/src --keep`,
		Args: a.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return demo(cmd.Context(), a, args, f) },
	}
	c.Flags().BoolVar(&f.keep, "keep", false, "keep the database, under --data-dir")
	c.Flags().IntVar(&f.limit, "limit", demoFiles, "take at most so many `files`; 0: all")
	return c
}

// demo runs the demo and tells how it went when all of it is gone again.
func demo(ctx context.Context, a *cli.App, args []string, f demoFlags) error {
	began := time.Now()
	if f.limit < 0 {
		return cli.Usage("demo", fmt.Sprintf("--limit %d is below 0", f.limit), "bellhop demo --limit 0   takes all files")
	}
	files, err := demoFinder(a, args, f.limit)
	if err != nil {
		return err
	}
	// From here to the end, so that no signal finds us half way; all but the first change nothing.
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	screen := newScreen(a.Stderr)
	report, err := runDemo(ctx, a, files, f, screen)
	screen.clear()
	if ctx.Err() != nil && err != nil && !errors.Is(err, errDemoLeft) {
		what := "nothing is left behind"
		switch {
		case a.DatabaseURL != "":
			what = "the findings are in the schema demo"
		case f.keep:
			what = "the findings are under " + a.DataDir
		}
		a.Note("demo: interrupted; %s", what)
		return cli.Silent(cli.ExitInterrupted)
	}
	if err != nil {
		return err
	}
	report.seconds = time.Since(began).Seconds()
	return printDemo(a, report, files)
}

// errDemoLeft: the demo's promise to leave nothing behind is broken.
var errDemoLeft = errors.New("not all of the demo could be stopped")

func left(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errDemoLeft, err)
}

// runDemo does it. When it returns, everything that it started is gone.
func runDemo(ctx context.Context, a *cli.App, files *fileFinder, f demoFlags, s *screen) (r demoReport, err error) {
	s.show("reading " + cli.Clean(files.dir))
	next, stop := iter.Pull(files.all(ctx))
	defer stop()
	first, ok := next()
	if !ok {
		return r, files.nothing()
	}
	log := observability.Logger(s, slog.LevelWarn, true)
	if a.DatabaseURL != "" {
		s.show("looking for the database")
	} else {
		s.show("starting PostgreSQL")
	}
	where, stopDatabase, err := demoDatabase(ctx, a, f.keep, log)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, left(stopDatabase())) }()
	if err := serve.Prepare(ctx, a, where, log); err != nil {
		return r, err
	}
	conn, err := a.Dial(ctx, where, nil)
	if err != nil {
		return r, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the server notices either way
	t := demoTable{conn}
	if err := t.open(ctx); err != nil {
		return r, err
	}
	s.say("the database, to look into it: %s", psql(where.URL, ""))
	s.show("reading " + cli.Clean(files.dir))
	if err := t.fill(ctx, first, next); err != nil {
		return r, err
	}
	todo, err := t.todo(ctx)
	if err != nil {
		return r, err
	}
	job := demoJob{}
	if todo == 0 {
		s.say("nothing to do: every file has an outcome already")
	} else if job, err = workDemo(ctx, a, t, todo, where.URL, s, log); err != nil {
		return r, err
	}
	r, err = t.report(ctx, job)
	r.job, r.url, r.warm = job, where.URL, job.warm
	r.gone = a.DatabaseURL == "" && !f.keep
	if f.keep && a.DatabaseURL == "" {
		r.dataDir = a.DataDir
	}
	return r, err
}

// demoDatabase starts a server that is thrown away, or kept, unless one was
// named on the command line: a database that is only in the environment was
// not meant for this.
func demoDatabase(ctx context.Context, a *cli.App, keep bool, log *slog.Logger) (cli.Database, func() error, error) {
	if a.DatabaseURL != "" {
		return cli.Database{URL: a.DatabaseURL, From: "--database-url"}, func() error { return nil }, nil
	}
	c := pgdev.Config{Programs: a.Programs(), Log: log}
	if keep {
		c.Dir, c.Durable = a.DataDir, true
	}
	cluster, err := pgdev.Start(ctx, c)
	if err != nil {
		return cli.Database{}, nil, cli.Failed(cli.ExitNoDatabase, "no database", "", "%s", err)
	}
	stop := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return cluster.Stop(ctx)
	}
	return cli.Database{URL: cluster.URL(), From: "the embedded server in " + cluster.Dir(), Embedded: true}, stop, nil
}
