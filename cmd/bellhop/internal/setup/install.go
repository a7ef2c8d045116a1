// Package setup has the commands that bring bellhop to a machine and its database.
package setup

import (
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/sql/migrate"
)

func InstallCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "install",
		Short:   "Set up the service, and the roles of the database",
		Example: "  bellhop install systemd --print\n  bellhop install roles --print",
	}
	a.Menu(c)
	c.AddCommand(installSystemdCommand(a), installRolesCommand(a))
	return c
}

//go:embed bellhop.service
var unitText string

var unitTemplate = template.Must(template.New("bellhop.service").Parse(unitText))

// unit is what differs between services of bellhop.
type unit struct {
	Program string // the binary
	Config  string // bellhop.yaml
	User    string // the account it and its agents run as
	StopSec int    // what it gets to end, in seconds
}

func installSystemdCommand(a *cli.App) *cobra.Command {
	u := unit{Program: cli.OwnProgram()}
	var print bool
	var dir string
	c := &cobra.Command{
		Use:   "systemd",
		Short: "Write the systemd unit of bellhop serve",
		Long: `Write the systemd unit of bellhop serve, and print the next commands. An existing
unit that differs stays; remove it first to replace it. With --print the unit goes
to stdout, and nothing is written.

The unit's stop timeout follows instance.grace and limits.kill_after of the
configuration, if that can be read.`,
		Example: "  bellhop install systemd --print\n  sudo bellhop install systemd -c /etc/bellhop/bellhop.yaml",
		Args:    a.NoArgs(),
		RunE: func(*cobra.Command, []string) error {
			u.Config = a.ConfigPath
			if u.Config == "" {
				u.Config = "/etc/bellhop/bellhop.yaml"
			}
			return installSystemd(a, u, dir, print)
		},
	}
	c.Flags().BoolVar(&print, "print", false, "print the unit, and write nothing")
	c.Flags().StringVar(&u.User, "user", "bellhop", "the `account` that it and its agents run as")
	c.Flags().StringVar(&dir, "to", "/etc/systemd/system", "the `folder` to write to")
	return c
}

func installSystemd(a *cli.App, u unit, dir string, print bool) error {
	path, err := filepath.Abs(u.Config)
	if err != nil {
		return err
	}
	u.Config = path
	limits := config.Default()
	switch c, err := config.Load(u.Config); {
	case err == nil:
		limits = c
	case !errors.Is(err, fs.ErrNotExist):
		a.Note("%s", cli.Flat(err.Error()))
	}
	// Killed children are waited for, and the embedded server's end too.
	u.StopSec = int(math.Ceil((limits.Instance.Grace + limits.Limits.KillAfter + 30*time.Second).Seconds()))
	var text bytes.Buffer
	if err := unitTemplate.Execute(&text, u); err != nil {
		return err
	}
	if print {
		return a.Printf("%s", text.String())
	}
	to := filepath.Join(dir, "bellhop.service")
	if there, err := os.ReadFile(to); err == nil && !bytes.Equal(there, text.Bytes()) {
		return cli.Usage("install", to+" is there already, and differs", "diff <(bellhop install systemd --print) "+to+"   and remove it to install the new one")
	}
	if err := os.WriteFile(to, text.Bytes(), 0o644); err != nil {
		return cli.Failed(cli.ExitSystem, "install", "sudo bellhop install systemd   or: bellhop install systemd --print", "%s", err)
	}
	if err := a.Printf("wrote %s; now:\n", to); err != nil {
		return err
	}
	return a.Printf("  useradd --system --home-dir /var/lib/bellhop --shell /usr/sbin/nologin %s   # unless it is there\n  systemctl daemon-reload\n  systemctl enable --now bellhop\n", u.User)
}

func installRolesCommand(a *cli.App) *cobra.Command {
	var print, logins bool
	c := &cobra.Command{
		Use:   "roles",
		Short: "Create the roles of the database, and set their rights",
		Long: `Create the roles bellhop_submitter, bellhop_reader, bellhop_operator,
bellhop_scheduler, bellhop_attach and bellhop_worker, and set their rights on the schema bellhop:
missing rights are granted, excess ones revoked. Migrations do the same if their
account may create roles.

It needs a superuser, or the schema's owner with CREATEROLE. With --print the SQL
goes to stdout, and nothing is changed.

--logins also creates logins: bellhop_serve for database.url, bellhop_msq for msq_url
and bellhop_db for db_url. They have no password yet, and neither has bellhop_attach,
the login of attach_url.`,
		Example: "  bellhop install roles\n  bellhop install roles --print | psql \"$ADMIN_URL\"",
		Args:    a.NoArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return installRoles(cmd, a, print, logins) },
	}
	c.Flags().BoolVar(&print, "print", false, "print the SQL, and run nothing")
	c.Flags().BoolVar(&logins, "logins", false, "also create logins for the scheduler, for MSQ queries and for DB:")
	return c
}

func installRoles(cmd *cobra.Command, a *cli.App, print, logins bool) error {
	ctx := cmd.Context()
	text := rolesScript(logins)
	if print {
		return a.Printf("%s", text)
	}
	s, err := a.Open(ctx)
	switch {
	case errors.Is(err, migrate.ErrEmpty):
		return cli.Failed(cli.ExitSchema, "install roles", "bellhop migrate   # makes the schema; then, again: bellhop install roles",
			"roles get rights on the schema bellhop, and the database has none yet")
	case err != nil:
		return err
	}
	defer s.Close()
	if err := a.Changing(cmd, s.Where, s.Conn.Config()); err != nil {
		return err
	}
	if _, err := s.Conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
		return err
	}
	next := ""
	if logins {
		next = "; their passwords: psql -c '\\password bellhop_serve' and so on"
	}
	return a.Printf("done: roles and rights are those of schema version %s%s\n", schemaVersion(), next)
}
