package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// eventStates are what may have become of an event.
var eventStates = append([]string{"waiting"}, runStates...)

func events(a *cli.App) *cobra.Command {
	var state string
	most := 20
	c := &cobra.Command{
		Use:   "events NAME",
		Short: "List the events of a workflow, the newest first, and their runs",
		Long: `List the events of a workflow, the newest first, and their runs. A skipped event can be run
later: bellhop workflow run NAME --event EVENT. --skipped runs all skipped events.`,
		Example: "  bellhop workflow events import --state skipped\n  bellhop workflow run import --skipped",
		Args:    one(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && !slices.Contains(eventStates, state) {
				return cli.Usage("workflow events", fmt.Sprintf("no event is ever %q", state), "--state "+strings.Join(eventStates, ", "))
			}
			if most < 1 {
				return cli.Usage("workflow events", fmt.Sprintf("-n %d: it is at least 1", most), "bellhop workflow events NAME -n 20")
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				rows, err := s.Workflows(ctx, view.WorkflowFilter{Names: view.Exactly(args[0])})
				if err == nil && len(rows) == 0 {
					err = unknown("events", args[0])
				}
				if err != nil {
					return err
				}
				var only *string
				if state != "" {
					only = &state
				}
				list, err := s.Events(ctx, args[0], only, most)
				return cli.PrintRows(a, list, err, "", "EVENT, AT, STATE, RUN, REASON", func(e view.EventRow) []any {
					return []any{e.Event, e.At, e.State, e.Run, e.Reason}
				})
			})(cmd, args)
		},
	}
	c.Flags().StringVarP(&state, "state", "s", "", "only events whose run is in this `state`; waiting: events without a run yet")
	c.Flags().IntVarP(&most, "limit", "n", most, "number of events")
	return c
}
