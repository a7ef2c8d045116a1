package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql"
)

// part is one thing of bellhop's in a database, or one of the user's that goes with it.
type part struct {
	Rank  int    `json:"-"`
	Kind  string `json:"kind"` // schema, trigger or role; of the user's: view, default, check, policy, function …
	Name  string `json:"name"`
	Kept  string `json:"kept,omitempty"`  // why it is still there
	Yours bool   `json:"yours,omitempty"` // it is not bellhop's, but uses bellhop
}

// heldWork is what a database has to do.
type heldWork struct {
	Live             string
	Jobs, Unfinished int64
}

// UninstallCommand removes bellhop from a database.
func UninstallCommand(a *cli.App) *cobra.Command {
	var drop, cascade bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove bellhop from a database, with its jobs",
		Long: `Remove bellhop from a database: its schemas with all jobs, logs and workflows, the
triggers on your tables, and its roles. Without --drop it lists them and changes
nothing. Your tables and their rows stay.

It is refused while an instance is live, and while something of yours uses bellhop: a
view, a default, a check, a policy, a foreign key or a function. Change or drop that
first, or let it go too with --cascade. A role that another database needs stays.
docs/install.md says how to remove the program and its service.`,
		Example: "  bellhop uninstall\n  bellhop uninstall --drop",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cascade && !drop {
				return cli.Usage("uninstall", "--cascade goes with --drop", "bellhop uninstall   # lists what would go")
			}
			return uninstall(cmd, a, drop, cascade)
		},
	}
	c.Flags().BoolVar(&drop, "drop", false, "remove it, and do not only list it")
	c.Flags().BoolVar(&cascade, "cascade", false, "with --drop: also remove what of yours uses bellhop")
	return c
}

func uninstall(cmd *cobra.Command, a *cli.App, drop, cascade bool) error {
	ctx := cmd.Context()
	where, conn, err := dialled(ctx, a)
	if err != nil {
		return err
	}
	s := &cli.Session{Conn: conn}
	defer s.Close()
	parts, work, err := installed(ctx, conn)
	refused := (*pgconn.PgError)(nil)
	if drop && len(parts) > 0 || errors.As(err, &refused) && refused.Code == "42501" { // insufficient_privilege
		if denied := owned(ctx, conn, parts); denied != nil {
			return denied
		}
	}
	switch {
	case err != nil:
		return err
	case len(parts) == 0:
		return cli.Failed(cli.ExitSchema, "uninstall", "", "there is no bellhop in database %s (named by %s)",
			conn.Config().Database, where.From)
	case !drop:
		head := fmt.Sprintf("database %s, jobs: %s, unfinished: %s\n",
			conn.Config().Database, most(work.Jobs), most(work.Unfinished))
		if work.Live != "" {
			head += "live instances, to be stopped first: " + cli.Clean(work.Live) + "\n"
		}
		next := "bellhop uninstall --drop   removes all of this"
		if len(yours(parts)) > 0 {
			next = "Change or drop what is yours, then: bellhop uninstall --drop\n" +
				"bellhop uninstall --drop --cascade   removes all of this, and what is yours too"
		}
		return printParts(a, parts, head, "", next)
	case work.Live != "":
		return cli.Failed(cli.ExitState, "uninstall",
			"systemctl stop bellhop   # or end each serve; then: bellhop uninstall --drop",
			"instances are live: %s. Nothing was removed", work.Live)
	case !cascade && len(yours(parts)) > 0:
		return cli.Failed(cli.ExitState, "uninstall",
			"bellhop uninstall   # lists them; change or drop them, or remove them too: bellhop uninstall --drop --cascade",
			"these of yours use bellhop, and would go with it: %s. Nothing was removed", firstOf(yours(parts)))
	}
	if err := a.Changing(cmd, where, conn.Config()); err != nil {
		return err
	}
	if err := dropSchemas(ctx, conn, parts); err != nil {
		return err
	}
	dropRoles(ctx, conn, parts)
	return printParts(a, parts, "", "removed", "The program and its service: docs/install.md, \"Remove it\"")
}

// owned refuses a login that cannot drop the schemas: no grant of a role of bellhop's would help it.
func owned(ctx context.Context, conn *pgx.Conn, parts []part) error {
	var schemas []string
	for _, p := range parts {
		if p.Kind == "schema" {
			schemas = append(schemas, p.Name)
		}
	}
	var schema, owner, login string
	err := conn.QueryRow(ctx, sql.Query("uninstall_owner"), schemas).Scan(&schema, &owner, &login)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look which roles own the schemas: %w", err)
	}
	return cli.Failed(cli.ExitDenied, "uninstall", "connect as "+cli.Clean(owner)+", or as a superuser",
		"only %s, the owner of schema %s, can remove it, and this login is %s. Nothing was removed",
		cli.Clean(owner), cli.Clean(schema), cli.Clean(login))
}

// yours are the parts that are not bellhop's, but go with it.
func yours(parts []part) (names []string) {
	for _, p := range parts {
		if p.Yours {
			names = append(names, p.Kind+" "+p.Name)
		}
	}
	return names
}

// firstOf names the first 20, and how many more there are.
func firstOf(names []string) string {
	const most = 20
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// most is a count that ends at 10,000.
func most(n int64) string {
	if n >= 10_000 {
		return "10,000 or more"
	}
	return fmt.Sprint(n)
}

// installed tells what of bellhop a database has: nothing, where it was never migrated.
func installed(ctx context.Context, conn *pgx.Conn) (parts []part, work heldWork, err error) {
	rows, err := conn.Query(ctx, sql.Query("uninstall_found"), strings.Split(roles, ", "))
	if err == nil {
		parts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[part])
	}
	if err != nil {
		return nil, work, fmt.Errorf("look what bellhop has here: %w", err)
	}
	if len(parts) == 0 || parts[0].Kind != "schema" {
		return nil, work, nil // the roles are another database's
	}
	err = conn.QueryRow(ctx, sql.Query("uninstall_work")).Scan(&work.Live, &work.Jobs, &work.Unfinished)
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == "42P01" { // half a schema
		err = nil
	}
	return parts, work, err
}

// dropSchemas removes the schemas, and what of others' goes with them: all or nothing.
func dropSchemas(ctx context.Context, conn *pgx.Conn, parts []part) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// A session that holds a lock for long shall end first: others would wait behind this one.
		if _, err := tx.Exec(ctx, "set local lock_timeout = '5s'"); err != nil {
			return err
		}
		for _, p := range parts {
			if p.Kind != "schema" {
				continue
			}
			if _, err := tx.Exec(ctx, "drop schema "+pgx.Identifier{p.Name}.Sanitize()+" cascade"); err != nil {
				return fmt.Errorf("drop schema %s: %w", p.Name, err)
			}
		}
		return nil
	})
}

// dropRoles removes the roles, or none of them, and notes why they stay: a role belongs to the server, and where
// another database needs one of them, its bellhop needs all.
func dropRoles(ctx context.Context, conn *pgx.Conn, parts []part) {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, p := range parts {
			if p.Kind != "role" {
				continue
			}
			if _, err := tx.Exec(ctx, "drop role "+pgx.Identifier{p.Name}.Sanitize()); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return
	}
	kept := cli.Flat(err.Error())
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "2BP01" { // dependent_objects_still_exist
		role := refused.Message[strings.Index(refused.Message, `"`)+1:]
		role, _, _ = strings.Cut(role, `"`)
		kept = "another database, or an object of yours, needs " + role
	}
	for i := range parts {
		if parts[i].Kind == "role" {
			parts[i].Kept = kept
		}
	}
}

// printParts prints what goes, or what became of it.
func printParts(a *cli.App, parts []part, head, gone, next string) error {
	if a.JSON() {
		return a.PrintJSON(parts)
	}
	t := cli.Table{Header: []string{"KIND", "NAME"}}
	if gone != "" {
		t.Header = append(t.Header, "RESULT")
	}
	for _, p := range parts {
		if p.Yours {
			p.Kind = "your " + p.Kind
		}
		switch {
		case p.Kept != "":
			t.Add(p.Kind, p.Name, "kept: "+p.Kept)
		case gone != "":
			t.Add(p.Kind, p.Name, gone)
		default:
			t.Add(p.Kind, p.Name)
		}
	}
	if err := a.Printf("%s", head); err != nil {
		return err
	}
	if err := a.PrintTable(t); err != nil {
		return err
	}
	return a.Printf("%s\n", next)
}
