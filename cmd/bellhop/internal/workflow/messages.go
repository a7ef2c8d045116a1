package workflow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// messageStates are what becomes of a message.
var messageStates = []string{"waiting", "sent", "given_up"}

func messages(a *cli.App) *cobra.Command {
	var states []string
	var run int64
	most := 50
	c := &cobra.Command{
		Use:     "messages [WORKFLOW]",
		Short:   "List messages: sent, waiting and given up, with reasons",
		Long:    "List messages, the latest first: sent, waiting and given up, with reasons.",
		Example: "  bellhop workflow notify messages nightly\n  bellhop workflow notify messages -s waiting,given_up",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			for _, s := range states {
				if !slices.Contains(messageStates, s) {
					return fmt.Errorf("no message is %q: it is one of %s", s, strings.Join(messageStates, ", "))
				}
			}
			if len(args) > 1 {
				return fmt.Errorf("it takes the name of one workflow")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, cmd *cobra.Command, args []string) error {
			var of *string
			if len(args) == 1 {
				of = &args[0]
			}
			var id *int64
			if cmd.Flags().Changed("run") {
				id = &run
			}
			list, err := s.Notices(ctx, states, of, id, most)
			return cli.PrintRows(a, list, err, "", "ID, RUN, WORKFLOW, ENDED, BY, TO, STATUS, TRIES, AT, NEXT, WHY",
				func(n view.NoticeRow) []any {
					return []any{n.ID, n.Run, n.Workflow, n.State, n.Channel, n.Target, n.Status, n.Tries,
						cmp.Or(n.SentAt, &n.At), n.NextAt, why(n)}
				})
		}),
	}
	c.Flags().StringSliceVarP(&states, "state", "s", nil, "waiting, sent or given_up; repeatable")
	c.Flags().Int64Var(&run, "run", 0, "only messages on the run with this `id`")
	c.Flags().IntVarP(&most, "limit", "n", most, "list at most so many")
	return c
}

// why says what keeps a message from being sent.
func why(n view.NoticeRow) string {
	switch {
	case n.Status == "waiting" && !n.Can:
		return lacks(n.Needs)
	case n.Status == "waiting" && n.Instance != nil:
		return fmt.Sprintf("instance %d is sending it", *n.Instance)
	}
	return cli.Text(n.Error)
}

func again(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "again ID…",
		Short:   "Send messages now that were given up, or wait for their next try",
		Long:    "Send messages now that were given up, or wait for their next try. Their ids stay the same.",
		Example: "  bellhop workflow notify again 12",
		Args:    ids(a, "message"),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			for _, arg := range args {
				id, _ := strconv.ParseInt(arg, 10, 64) // checked above
				was, err := s.SendAgain(ctx, id)
				switch {
				case err != nil:
					return err
				case was == nil:
					return cli.Failed(cli.ExitNotFound, "workflow notify again", "bellhop workflow notify messages", "there is no message %d", id)
				case *was == "sent":
					err = a.Printf("message %d was sent already\n", id)
				default:
					err = a.Printf("message %d is sent now\n", id)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
