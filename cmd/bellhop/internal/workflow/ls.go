package workflow

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
)

func ls(a *cli.App) *cobra.Command {
	var project, typ, sensor string
	var active, inactive bool
	kinds := append(slices.Clone(workflow.Kinds), view.NoSensor)
	c := &cobra.Command{
		Use:   "ls [NAME…]",
		Short: "List workflows, with their next slots and their last runs",
		Long: `List workflows, with their next slots and their last runs: all, or those with these names or
patterns, whatever the case. A workflow must match all flags.`,
		Example: "  bellhop workflow ls\n  bellhop workflow ls 'nightly-*' --project demo\n" +
			"  bellhop workflow ls --inactive --sensor cron\n  bellhop workflow ls --type license",
		Args: names(a, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := view.WorkflowFilter{Names: view.Like(args), AnyCase: true}
			if cmd.Flags().Changed("project") {
				f.Project = &project
			}
			switch {
			case active && inactive:
				return cli.Usage("workflow ls", "--active and --inactive exclude each other", "bellhop workflow ls   lists both")
			case active || inactive:
				f.Active = &active
			}
			switch {
			case slices.Contains(kinds, sensor):
				f.Sensor = &sensor
			case cmd.Flags().Changed("sensor"):
				return cli.Usage("workflow ls", "there is no sensor "+strconv.Quote(sensor), "--sensor "+strings.Join(kinds, ", "))
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
				list, err := s.Workflows(ctx, f)
				if err != nil {
					return err
				}
				if typ != "" {
					using, err := s.WorkflowsUsing(ctx, typ)
					if err != nil {
						return err
					}
					list = slices.DeleteFunc(list, func(w view.WorkflowRow) bool { return !slices.Contains(using, w.Name) })
				}
				switch {
				case a.JSON():
					return a.PrintJSON(list)
				case len(list) == 0 && len(args) > 0:
					return unknown("ls", args[0])
				}
				return a.PrintTable(workflowTable(list))
			})(cmd, args)
		},
	}
	f := c.Flags()
	f.StringVar(&project, "project", "", "only workflows of this `project`")
	f.StringVarP(&typ, "type", "t", "", "only workflows with a step of this `type`")
	f.BoolVar(&active, "active", false, "only active workflows: their sensors may start them")
	f.BoolVar(&inactive, "inactive", false, "only inactive workflows")
	f.StringVar(&sensor, "sensor", "", "only workflows with this `kind` of sensor: "+strings.Join(kinds, ", "))
	return c
}

func workflowTable(list []view.WorkflowRow) cli.Table {
	t := cli.Table{Header: []string{"NAME", "PROJECT", "ACTIVE", "VERSION", "SENSOR", "NEXT", "RUN", "STATE", "ENDED"}}
	for _, w := range list {
		active := "no"
		if w.Active {
			active = "yes"
		}
		t.Add(w.Name, w.Project, active, w.Version, w.Sensor, w.NextFire, w.Run, w.State, w.RunEndedAt)
	}
	return t
}

func projects(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "projects",
		Short: "List projects: their workflows, their open runs, and runs failed within a day",
		Long: `List projects: the number of their workflows, of the active ones, of open runs, and of runs
that failed within a day.`,
		Example: "  bellhop workflow projects\n  bellhop workflow ls --project demo",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			list, err := s.Projects(ctx)
			return cli.PrintRows(a, list, err, "", "PROJECT, WORKFLOWS, ACTIVE, RUNNING, QUEUED, FAILED",
				func(p view.ProjectRow) []any {
					return []any{p.Project, p.Workflows, p.Active, p.Running, p.Queued, p.Failed}
				})
		}),
	}
}
