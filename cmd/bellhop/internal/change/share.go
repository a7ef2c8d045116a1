package change

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
	"bellhop/verb"
)

// ShareCommand is the commands for the keys that take turns.
func ShareCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "share {ls | set}",
		Short: "Weigh the keys that take turns, such as customers",
		Long: `Weigh the keys that take turns, such as customers. Among jobs of one type and priority
the keys in --share take turns, so that a flood of one does not hold up the others.`,
		Example: "  bellhop share set mail customer-42 3\n  bellhop share ls mail\n  bellhop submit mail 'hello' --share customer-42",
	}
	a.Menu(c)
	c.AddCommand(listShares(a), setShare(a))
	return c
}

func listShares(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ls [TYPE]",
		Short: "List the keys that have a weight, wait or run, or ran lately",
		Long: `List the keys of TYPE, or of all types, that have a weight, wait or run, or had a start
in the last hour. STARTED counts starts since the key last came into the line. HOUR counts
those of the last hour, PART is their part of all starts of the type, and DUE is the part
that the key's weight gives, among the keys that had work. About 50,000 jobs are looked at.`,
		Example: "  bellhop share ls\n  bellhop share ls mail -o json",
		Args:    typeArg(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			var of *string
			if len(args) > 0 {
				of = &args[0]
			}
			rows, err := s.Shares(ctx, of)
			return cli.PrintRows(a, rows, err, "no key has a weight or work", "TYPE, SHARE, WEIGHT, WAITING, RUNNING, STARTED, HOUR, PART, DUE",
				func(r view.ShareRow) []any {
					return []any{r.Type, r.Name, r.Weight, r.Waiting, r.Running, r.Started,
						r.Hour.Starts, words.Percent(r.Hour.Part), words.Percent(r.Hour.Due)}
				})
		}),
	}
}

func setShare(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "set TYPE NAME WEIGHT",
		Short: "Set the weight of a key",
		Long: `Set the weight of a key among the keys of TYPE: a key of weight 3 has three starts where
one of weight 1 has one. Weights go from 0.001 to 1000; a key without one has 1.`,
		Example: "  bellhop share set mail customer-42 3",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return fmt.Errorf("it takes a type, the name of a key, and a weight")
			}
			if w, err := strconv.ParseFloat(args[2], 32); err != nil || !(w >= 0.001 && w <= 1000) {
				return fmt.Errorf("the weight %q is not a number from 0.001 to 1000", args[2])
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			w, err := strconv.ParseFloat(args[2], 32)
			if err != nil {
				return err
			}
			row := view.ShareRow{Type: scheduler.TypeName(args[0]), Name: args[1], Weight: float32(w)}
			_, err = verb.Do(ctx, s.Look, "share set", verb.In{Name: args[0], Share: row})
			return err
		}),
	}
}
