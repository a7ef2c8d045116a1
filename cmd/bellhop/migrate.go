package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/sql/migrate"
)

func migrateCommand(a *app) *cobra.Command {
	var planOnly bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to the schema this program needs",
		Long: `Bring the database to the schema this program needs. Forward only, each step in
a transaction of its own; two at once wait for each other.`,
		Example: "  bellhop migrate --plan\n  bellhop migrate",
		Args:    a.noArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.migrate(cmd.Context(), planOnly)
		},
	}
	c.Flags().BoolVar(&planOnly, "plan", false, "print the SQL that would run, and run nothing")
	return c
}

func (a *app) migrate(ctx context.Context, planOnly bool) error {
	plan, err := schema()
	if err != nil {
		return err
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
		return a.printSteps(plan, steps, func(s migrate.Step) string { return "-- " + s.Name + "\n" + s.Text })
	}
	steps, err := plan.Run(ctx, conn)
	if err != nil {
		return err
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
