package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
)

// runStates are all that a run can be in.
var runStates = append([]string{"queued", "running"}, workflow.RunStates...)

func runs(a *cli.App) *cobra.Command {
	var project, since, until string
	var states, by []string
	most := 20
	c := &cobra.Command{
		Use:   "runs [NAME…]",
		Short: "List runs of all workflows, the newest first",
		Long: `List runs, the newest first: of all workflows, or of those with these names or patterns, deleted
ones included. A run must match all flags, and one value of each repeatable flag.`,
		Example: `  bellhop workflow runs --state failed --since 1d
  bellhop workflow runs 'import-*' --by 'sensor*' -n 50
  bellhop workflow runs --project demo --since '2026-11-01 06:00' --until 2026-11-02 -o json`,
		Args: names(a, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range states {
				if !slices.Contains(runStates, s) {
					return cli.Usage("workflow runs", fmt.Sprintf("no run is ever %q", s), "--state "+strings.Join(runStates, ", "))
				}
			}
			if most < 1 {
				return cli.Usage("workflow runs", fmt.Sprintf("-n %d: it is at least 1", most), "bellhop workflow runs -n 20")
			}
			f := view.RunFilter{Names: view.Like(args), States: states, By: view.Like(by)}
			if cmd.Flags().Changed("project") {
				f.Project = &project
			}
			for _, t := range []struct {
				flag, text string
				at         **time.Time
			}{{"since", since, &f.Since}, {"until", until, &f.Until}} {
				if t.text == "" {
					continue
				}
				at, err := cli.ParseMoment(t.text)
				if err != nil {
					return cli.Usage("workflow runs", fmt.Sprintf("--%s %q %v", t.flag, t.text, err),
						"bellhop workflow runs --since 1d, or --since '2026-01-02 15:04' (UTC)")
				}
				*t.at = &at
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				list, err := s.FindRuns(ctx, f, most)
				return cli.PrintRows(a, list, err, "", "RUN, WORKFLOW, STATE, VERSION, BY, EVENT, CREATED, ENDED, REASON",
					func(r view.RunRow) []any {
						return []any{r.ID, r.Workflow, r.State, r.Version, r.TriggeredBy, r.Event, r.CreatedAt, r.EndedAt, r.Reason}
					})
			})(cmd, args)
		},
	}
	f := c.Flags()
	f.StringVar(&project, "project", "", "only runs of this `project`")
	f.StringSliceVarP(&states, "state", "s", nil, "only runs in this `state`; repeatable")
	f.StringSliceVar(&by, "by", nil, "triggered by this `login`, or this sensor, such as 'sensor*'; repeatable")
	f.StringVar(&since, "since", "", "runs created at this `time` (UTC) or later; 1d: a day ago or later")
	f.StringVar(&until, "until", "", "runs created before this `time` (UTC); 1d: more than a day ago")
	f.IntVarP(&most, "limit", "n", most, "number of runs")
	return c
}
