package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/sql"
	"bellhop/sql/view"
	"bellhop/web"
)

// What is wrong with a configuration is found before anything is started, and
// ends serve: what is found later is one warning among others, for ever.

// site is the web server. An address that was chosen and cannot be had ends
// serve; the default one gives way to a free port, since a second instance on
// this machine is no mistake.
func (s Config) site(
	c config.Config, tokens []web.Token, people web.People, ready web.Health, counts func() http.Handler, log *slog.Logger,
) (*web.Server, error) {
	address := cmp.Or(s.listen, s.Listen, c.Listen)
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return nil, cli.Usage("serve", fmt.Sprintf("--listen %q is not a valid address: %s", address, err), "bellhop serve --listen 127.0.0.1:8470")
	}
	of := web.Config{Listen: address, Hosts: c.AllowedHosts, Tokens: tokens, People: people, Ready: ready, Counts: counts,
		Behind: web.Behind{Prefix: c.Web.Prefix, Proxies: c.Web.TrustedProxies}}
	site, err := web.Listen(of)
	taken := errors.Is(err, syscall.EADDRINUSE)
	chosen := s.listen != "" || s.Listen != ""
	if standard := config.Default().Listen; taken && !chosen && address == standard {
		host, _, _ := net.SplitHostPort(standard)
		of.Listen = net.JoinHostPort(host, "0")
		if site, err = web.Listen(of); err == nil {
			log.Warn("another program listens on "+standard+": pages, API, /healthz and /metrics are answered elsewhere",
				"listen", site.Addr(), "next", "bellhop ready --listen "+site.Addr())
		}
	}
	switch {
	case err == nil:
		return site, nil
	case errors.Is(err, web.ErrNoToken):
		return nil, cli.Usage("serve", err.Error(), "bellhop serve --token-file FILE, or --listen 127.0.0.1:8470")
	case taken:
		return nil, cli.Failed(cli.ExitState, "serve", "bellhop serve --listen 127.0.0.1:0   takes any free port; ss -ltnp shows the other program",
			"another program listens on %s", address)
	}
	return nil, cli.Usage("serve", "it cannot listen on "+address+": "+err.Error(),
		"bellhop serve --listen 127.0.0.1:8470")
}

// checkLogin refuses a login that lacks a right which instances need: it would
// try for ever.
func checkLogin(ctx context.Context, conn *pgx.Conn) error {
	look := view.NewLook(conn)
	login, err := look.Login(ctx)
	if err != nil {
		return err
	}
	missing, err := look.Lacks(ctx, sql.Rights(), "bellhop_scheduler")
	// What migrations write in is theirs.
	missing = slices.DeleteFunc(missing, func(right string) bool { return strings.Contains(right, ".schema_") })
	if err != nil || login.Enters && len(missing) == 0 {
		return err
	}
	if !login.Enters {
		missing = append([]string{"USAGE on schema bellhop"}, missing...)
	}
	return cli.Failed(
		cli.ExitDenied,
		"serve",
		"as the schema's owner: grant bellhop_scheduler to "+cli.Quoted(
			login.Login)+"   (bellhop install roles, if there is no such role)",
		"the login %s may not schedule: it lacks %s, the first: %s",
		login.Login,
		cli.Count(len(missing), "right"),
		missing[0],
	)
}

// checkQueries refuses URLs under which queries could never run. One whose
// server is only away is told, and no reason not to start.
func checkQueries(ctx context.Context, a *cli.App, c config.Config, log *slog.Logger) error {
	for key, url := range map[string]string{"msq_url": c.Database.MSQURL, "db_url": c.Database.DBURL} {
		if url == "" {
			continue
		}
		conn, err := a.Dial(ctx, cli.Database{URL: url, From: "database." + key}, nil)
		if err == nil {
			_ = conn.Close(context.WithoutCancel(ctx)) // it was only tried
			continue
		}
		var refused *pgconn.PgError
		f := cli.ExplainFailure(err)
		if f.Code != cli.ExitNoDatabase ||
			errors.As(f.Cause, &refused) && !strings.HasPrefix(refused.Code, "57P") && !strings.HasPrefix(refused.Code, "53") {
			return err
		}
		log.Warn("queries cannot be run now", "key", "database."+key, "error", cli.Redact(f.Why))
	}
	return nil
}
