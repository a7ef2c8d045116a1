// Package dev is `bellhop dev`: everything for a first look, in one command, and nothing left behind.
package dev

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/serve"
	"bellhop/config"
	"bellhop/observability"
	"bellhop/pgdev"
	"bellhop/sql/view"
)

// Command starts everything for a first look.
func Command(a *cli.App) *cobra.Command {
	var listen string
	c := &cobra.Command{
		Use:   "dev",
		Short: "Start everything for a first look: database, agents, jobs, dashboard",
		Long: `Start everything for a first look: a private PostgreSQL, an instance, three example agents,
a graph of jobs, a query whose rows are items, a workflow that a clock starts, and the
dashboard. It prints a link that opens the dashboard signed in. Further jobs come every few
seconds; some of them fail, as examples.

Ctrl-C ends all of it. No process and no file stays.`,
		Example: "  bellhop dev\n  bellhop dev --listen 127.0.0.1:9000",
		Args:    a.NoArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return dev(cmd.Context(), a, listen) },
	}
	c.Flags().
		StringVar(&listen, "listen", "", "`address` of the pages (default 127.0.0.1:8470, or any port where that is taken)")
	return c
}

func dev(ctx context.Context, a *cli.App, listen string) error {
	log := observability.Logger(a.Stderr, slog.LevelWarn, true)
	a.Note("starting a private PostgreSQL")
	starting, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	cluster, err := pgdev.Start(starting, pgdev.Config{Programs: a.Programs(), Log: log})
	ended := starting.Err() != nil
	release()
	if err != nil {
		if ended {
			return cli.Silent(cli.ExitInterrupted)
		}
		return cli.Failed(cli.ExitNoDatabase, "no database", "", "%s", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := cluster.Stop(ctx); err != nil {
			log.Error("the private PostgreSQL did not stop", "error", err)
		}
	}()
	if ended {
		return cli.Silent(cli.ExitInterrupted)
	}
	private := *a
	private.DatabaseURL = cluster.URL()
	c := config.Default()
	c.Database.URL, c.Database.MSQURL = cluster.URL(), cluster.URL()
	c.Hosts = []config.Host{{Name: "local", Slots: 6}}
	c.Agents = agents
	c.Instance.Grace = time.Second // Ctrl-C does not wait for examples
	address := ""
	s := serve.Config{
		Config: func() (config.Config, error) { return c, nil },
		Listen: listen,
		Quiet:  true,
		Brisk:  true,
		Opened: func(addr string) { address = addr },
		Beside: func(ctx context.Context, url string, log *slog.Logger) {
			if err := show(ctx, a, url, address); err != nil && ctx.Err() == nil {
				log.Error("there is nothing to look at", "error", err)
			}
		},
	}
	err = serve.Run(ctx, &private, s)
	a.Note("ended: nothing is left")
	return err
}

// show fills the queue, prints where to look, and goes on submitting until ctx ends.
func show(ctx context.Context, a *cli.App, url, address string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // the server goes right after
	l := view.NewLook(conn)
	if err := fill(ctx, conn, l); err != nil {
		return err
	}
	secret := rand.Text()
	if err := l.SignIn(ctx, secret); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	base := "http://" + net.JoinHostPort("localhost", port)
	if err := a.Printf(`
  the pages    %s/login/%s
               signed in; the link works once, within two minutes. As a reader: %[1]s/
  the queue    bellhop ls --database-url '%[3]s'
               psql '%[3]s'
  a job        insert into bellhop.jobqueue (type, args) values ('greet', 'world')
  the end      Ctrl-C: nothing is left

`, base, secret, url); err != nil {
		return err
	}
	return trickle(ctx, l)
}
