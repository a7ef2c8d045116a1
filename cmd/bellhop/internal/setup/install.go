// Package setup has the commands that bring bellhop to a machine and its database.
package setup

import (
	"errors"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/migrate"
)

func InstallCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "install",
		Short:   "Set up the service, and the roles of the database",
		Example: "  bellhop install systemd --print\n  bellhop install launchd --print\n  bellhop install roles --print",
	}
	a.Menu(c)
	c.AddCommand(installServiceCommand(a, systemd), installServiceCommand(a, launchd), installRolesCommand(a))
	return c
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
		next = "; their passwords: psql \"$DATABASE_URL\" -c '\\password bellhop_serve' and so on"
	}
	return a.Printf("done: roles and rights are those of schema version %s%s\n", schemaVersion(), next)
}
