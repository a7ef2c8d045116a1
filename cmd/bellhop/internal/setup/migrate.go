package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql"
	"bellhop/sql/migrate"
)

func MigrateCommand(a *cli.App) *cobra.Command {
	var planOnly bool
	var compat string
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the schema that this program needs",
		Long: `Bring the database to the schema that this program needs. Steps go forward only, each
in its own transaction; two migrations at once wait for each other. --plan says which
older binaries can still be started after each step.

--compat fossology also creates the schema fossology: the views jobqueue and
jobdepends under the names that FOSSology's front end uses.`,
		Example: "  bellhop migrate --plan\n  bellhop migrate\n  bellhop migrate --compat fossology",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bringUp(cmd, a, planOnly, compat)
		},
	}
	c.Flags().BoolVar(&planOnly, "plan", false, "print the SQL that would run, and run nothing")
	c.Flags().StringVar(&compat, "compat", "", "also create views under the names of another `system`: fossology")
	return c
}

// dialled opens the database that a command names.
func dialled(ctx context.Context, a *cli.App) (where cli.Database, conn *pgx.Conn, err error) {
	if where, err = a.FindDatabase(); err != nil {
		return where, nil, err
	}
	conn, err = a.Dial(ctx, where, func(notice string) {
		// Ours say what an administrator has to do; PostgreSQL's own tell what was there already.
		if ours, ok := strings.CutPrefix(notice, "bellhop: "); ok {
			a.Note("%s", cli.Clean(ours))
		}
	})
	return where, conn, err
}

func bringUp(cmd *cobra.Command, a *cli.App, planOnly bool, compat string) error {
	ctx := cmd.Context()
	plan, err := cli.Schema()
	if err != nil {
		return err
	}
	var more []migrate.Step
	if compat != "" {
		text, ok := sql.Compat(compat)
		if !ok {
			return cli.Usage("migrate", fmt.Sprintf("there are no views of a system %q", compat), "bellhop migrate --compat fossology")
		}
		more = []migrate.Step{{Name: "compat/" + compat + ".sql", Text: text}}
	}
	where, conn, err := dialled(ctx, a)
	if err != nil {
		return err
	}
	s := &cli.Session{Conn: conn}
	defer s.Close()

	if planOnly {
		steps, err := plan.Pending(ctx, conn)
		if err != nil {
			return err
		}
		if err := printSteps(ctx, a, conn, plan, append(steps, more...),
			func(s migrate.Step) string { return "-- " + s.Name + takesAway(s) + "\n" + s.Text }); err != nil || a.JSON() {
			return err
		}
		return a.Printf("%s", goingBack(steps))
	}
	if err := a.Changing(cmd, where, conn.Config()); err != nil {
		return err
	}
	// Two concurrent migrations meet at a lock of their sessions.
	if is, err := cli.Pooled(ctx, conn); err != nil {
		return err
	} else if is {
		return cli.Usage("migrate", "the database's URL leads through a pooler (PgBouncer or its like)", "name the server itself: bellhop migrate --database-url postgres://…")
	}
	steps, err := plan.Run(ctx, conn)
	if err != nil {
		return err
	}
	for _, s := range more {
		if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Conn().PgConn().Exec(ctx, s.Text).ReadAll()
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		steps = append(steps, s)
	}
	return printSteps(ctx, a, conn, plan, steps, func(s migrate.Step) string { return "done: " + s.Name + "\n" })
}

// goingBack says what a rollback of the binary needs after these steps. Without a step of another version it is nothing
// that this plan changes.
func goingBack(steps []migrate.Step) string {
	from := 0
	for _, s := range steps {
		if s.WorksFrom == 0 {
			s.WorksFrom = s.Version
		}
		from = max(from, s.WorksFrom)
	}
	if from == 0 {
		return ""
	}
	return fmt.Sprintf("-- To go back: install the older binary; the schema stays. "+
		"A binary of a schema version below %d cannot be started.\n", from)
}

// takesAway says which binaries cannot be started any more after a step. One that runs goes on.
func takesAway(s migrate.Step) string {
	switch {
	case s.Version == 0:
		return ""
	case s.WorksFrom == 0 || s.WorksFrom == s.Version:
		return ": after it no older binary can be started; running ones go on"
	default:
		return fmt.Sprintf(": after it, binaries of schema version %d and newer can be started; running older ones go on", s.WorksFrom)
	}
}

func printSteps(
	ctx context.Context, a *cli.App, conn *pgx.Conn, plan migrate.Plan, steps []migrate.Step,
	words func(migrate.Step) string,
) error {
	if a.JSON() {
		type step struct {
			Version int    `json:"version"` // 0: a script that is put in place again
			Name    string `json:"name"`
			SQL     string `json:"sql"`
			// The oldest binary that can be started afterwards; 0: only one that knows this step.
			WorksFrom int `json:"works_from,omitempty"`
		}
		list := []step{}
		for _, s := range steps {
			list = append(list, step{s.Version, s.Name, s.Text, s.WorksFrom})
		}
		return a.PrintJSON(list)
	}
	text := ""
	for _, s := range steps {
		text += words(s)
	}
	if text == "" {
		text = fmt.Sprintf("nothing to do: the schema is at version %d\n", plan.Version())
		if newer, err := plan.Newer(ctx, conn); err != nil {
			return err
		} else if newer > 0 {
			text = fmt.Sprintf("nothing to do: the schema is at version %d, newer than this binary's %d, which works with it\n",
				newer, plan.Version())
		}
	}
	return a.Printf("%s", text)
}
