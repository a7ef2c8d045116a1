package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/sql"
	"bellhop/sql/migrate"
)

func migrateCommand(a *app) *cobra.Command {
	var planOnly bool
	var compat string
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the schema this program needs",
		Long: `Bring the database to the schema this program needs. Forward only, each step in
a transaction of its own; two at once wait for each other.

--compat fossology puts the schema fossology in place besides: the views
jobqueue and jobdepends under the names that FOSSology's front end uses.`,
		Example: "  bellhop migrate --plan\n  bellhop migrate\n  bellhop migrate --compat fossology",
		Args:    a.noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.migrate(cmd.Context(), planOnly, compat)
		},
	}
	c.Flags().BoolVar(&planOnly, "plan", false, "print the SQL that would run, and run nothing")
	c.Flags().StringVar(&compat, "compat", "", "put views under the names of another `system` in place: fossology")
	return c
}

func (a *app) migrate(ctx context.Context, planOnly bool, compat string) error {
	plan, err := schema()
	if err != nil {
		return err
	}
	var more []migrate.Step
	if compat != "" {
		text, ok := sql.Compat(compat)
		if !ok {
			return usage("migrate", fmt.Sprintf("there are no views of a system %q", compat), "bellhop migrate --compat fossology")
		}
		more = []migrate.Step{{Name: "compat/" + compat + ".sql", Text: text}}
	}
	conn, err := a.connect(ctx, func(notice string) {
		// Ours say what an administrator has to do; PostgreSQL's own tell what was there already.
		if ours, ok := strings.CutPrefix(notice, "bellhop: "); ok {
			a.note("%s", clean(ours))
		}
	})
	if err != nil {
		return err
	}
	s := &session{conn: conn}
	defer s.close()

	if planOnly {
		steps, err := plan.Pending(ctx, conn)
		if err != nil {
			return err
		}
		return a.printSteps(plan, append(steps, more...), func(s migrate.Step) string { return "-- " + s.Name + "\n" + s.Text })
	}
	// Two who migrate meet at a lock of their sessions.
	if is, err := pooled(ctx, conn); err != nil {
		return err
	} else if is {
		return usage("migrate", "the database's URL leads through a pooler (PgBouncer or its like)", "name the server itself: bellhop migrate --database-url postgres://…")
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
	return a.printSteps(plan, steps, func(s migrate.Step) string { return "done: " + s.Name + "\n" })
}

func (a *app) printSteps(plan migrate.Plan, steps []migrate.Step, words func(migrate.Step) string) error {
	if a.json() {
		type step struct {
			Version int    `json:"version"` // 0: a script that is put in place again
			Name    string `json:"name"`
			SQL     string `json:"sql"`
		}
		list := []step{}
		for _, s := range steps {
			list = append(list, step{s.Version, s.Name, s.Text})
		}
		return a.printJSON(list)
	}
	text := ""
	for _, s := range steps {
		text += words(s)
	}
	if text == "" {
		text = fmt.Sprintf("nothing to do: the schema is at version %d\n", plan.Version())
	}
	return a.printf("%s", text)
}
