package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// changesExample stands behind what is wrong with a command line.
const changesExample = "bellhop changes --since 1h --by ann@example.org -n 50"

// changesMost is how many changes are listed at most: all of them are in memory.
const changesMost = 1_000_000

// ChangesCommand lists what callers have changed.
func ChangesCommand(a *cli.App) *cobra.Command {
	var since, of string
	f, most := view.ChangeFilter{}, 50
	c := &cobra.Command{
		Use:   "changes",
		Short: "List changes by people, tokens and database logins, the newest first",
		Long: `List changes by people, tokens and database logins, the newest first: when, by which
caller, on what, and the result. They are kept for 90 days. Submissions, and the work of
instances, are not among them.`,
		Example: "  bellhop changes --since 1h\n  bellhop changes --by ann@example.org -n 10\n  bellhop changes --of 'job 42' -o json",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var from time.Time
			if most < 1 || most > changesMost {
				return cli.Usage("changes", fmt.Sprintf("-n %d: it is 1 to %d", most, changesMost), changesExample)
			}
			if cmd.Flags().Changed("since") {
				var err error
				if from, err = cli.ParseMoment(since); err != nil {
					return cli.Usage("changes", fmt.Sprintf("--since %q %v", since, err), changesExample)
				}
			}
			if cmd.Flags().Changed("of") {
				var named bool
				if f.Thing, f.Name, named = strings.Cut(of, " "); !named || f.Thing == "" || f.Name == "" {
					return cli.Usage("changes", fmt.Sprintf("--of %q names no thing", of), "bellhop changes --of 'job 42'")
				}
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				return changes(ctx, a, s, f, from, most)
			})(cmd, args)
		},
	}
	c.Flags().StringVar(&since, "since", "", "changes at this `time` (UTC) or later; 1h: of the last hour")
	c.Flags().StringVar(&f.By, "by", "", "only changes by this `caller`: a person, a token or a database login")
	c.Flags().StringVar(&of, "of", "", "only changes of this `thing`, such as 'job 42' or 'type license'")
	c.Flags().IntVarP(&most, "limit", "n", most, "list at most so many, the newest")
	return c
}

// changes prints the newest changes at a time or later; zero: at any time.
func changes(ctx context.Context, a *cli.App, s *cli.Session, f view.ChangeFilter, from time.Time, most int) error {
	rows, err := s.Changes(ctx, f, most+1) // one more, to know whether there are more
	if err != nil {
		return err
	}
	// Ids grow with time, so all that are late enough are among the newest.
	rows = slices.DeleteFunc(rows, func(r view.ChangeRow) bool { return r.At.Before(from) })
	if len(rows) > most {
		rows = rows[:most]
		a.Note("there are more: these are the newest %d; bellhop changes -n %d lists twice as many", most, 2*most)
	}
	none := "no change is recorded"
	if f != (view.ChangeFilter{}) || !from.IsZero() {
		none = "no recorded change matches"
	}
	return cli.PrintRows(a, rows, nil, none, "WHEN, BY, AS, CHANGE, OF, RESULT", func(r view.ChangeRow) []any {
		thing := r.Thing
		if r.Name != nil {
			thing += " " + *r.Name
		}
		return []any{r.At, r.By, r.Role, r.Verb, thing, r.Result}
	})
}
