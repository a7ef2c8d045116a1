package workflow

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

// shown is a workflow in JSON.
type shown struct {
	view.WorkflowRow
	Definition any           `json:"definition"`
	Runs       []view.RunRow `json:"runs"`
}

func show(a *cli.App) *cobra.Command {
	var id int64
	most := 10
	c := &cobra.Command{
		Use:     "show NAME | --run ID",
		Short:   "Show a workflow and its last runs, or one run and its steps",
		Long:    "Show the definition of a workflow and its last runs; or one run, and the outcome of its steps.",
		Example: "  bellhop workflow show nightly\n  bellhop workflow show --run 42",
		Args: a.Args(func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == cmd.Flags().Changed("run") || len(args) > 1 {
				return fmt.Errorf("it takes the name of one workflow, or --run and the id of a run")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showRun(ctx, a, s, id)
			}
			return showWorkflow(ctx, a, s, args[0], most)
		}),
	}
	c.Flags().Int64Var(&id, "run", 0, "the `id` of a run")
	c.Flags().IntVarP(&most, "runs", "n", most, "number of runs")
	return c
}

func showWorkflow(ctx context.Context, a *cli.App, s *cli.Session, name string, most int) error {
	d, _, err := definition(ctx, s.Look, "show", name)
	if err != nil {
		return err
	}
	rows, err := s.Workflows(ctx, view.WorkflowFilter{Names: view.Exactly(name)})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return unknown("show", name)
	}
	runs, err := s.Runs(ctx, &name, nil, most)
	if err != nil {
		return err
	}
	if a.JSON() {
		return a.PrintJSON(shown{rows[0], d, runs})
	}
	body, err := text(d)
	if err != nil {
		return err
	}
	w := rows[0]
	by, at := cli.Clean(w.ChangedBy), cli.Moment(&w.ChangedAt)
	if err := a.Printf("# version %d, changed by %s at %s\n%s", w.Version, by, at, body); err != nil {
		return err
	}
	if err := a.Printf("\n%s\n", cli.Clean(starts(d, w))); err != nil {
		return err
	}
	if len(runs) == 0 {
		return a.Printf("it has not run yet: bellhop workflow run %s\n", name)
	}
	return a.PrintTable(runTable(runs))
}

// starts says in words what starts a workflow, and why it does not.
func starts(d workflow.Definition, w view.WorkflowRow) string {
	switch {
	case !w.Active:
		return "not active: only this starts it: bellhop workflow run " + w.Name
	case w.Problem != nil && d.Sensor.Watched():
		return "its sensor sees nothing, or its last event led to no run: " + *w.Problem
	case d.Sensor.Watched() && w.Instance == nil:
		return "no live instance can see that: look at sensors in bellhop.yaml, and at bellhop instances"
	case d.Sensor.Watched() && w.Lag != nil && *w.Lag > 0:
		return fmt.Sprintf("instance %d watches it, and is %s behind", *w.Instance, cli.Count(int(*w.Lag), "message"))
	case d.Sensor.Watched() && w.Lag != nil:
		return fmt.Sprintf("instance %d watches it, and has read all", *w.Instance)
	case d.Sensor.Watched():
		return fmt.Sprintf("instance %d watches it", *w.Instance)
	case w.Problem != nil:
		return "its last slot led to no run: " + *w.Problem
	case d.Sensor == nil:
		return "no sensor: bellhop workflow run, or an event, starts it"
	case d.Sensor.Kind() == "table":
		return "it starts when a row is inserted into " + d.Sensor.Table
	case d.Sensor.Kind() == "http":
		return "it starts when a client posts an event, or calls bellhop.workflow_http"
	case d.Sensor.Kind() == "workflow":
		return "it starts when a run of " + d.Sensor.Workflow + " has ended"
	case w.NextFire != nil:
		return fmt.Sprintf("next at %s (in %s)", cli.Moment(w.NextFire), cli.Age(time.Until(*w.NextFire).Seconds()))
	case d.Sensor.AfterFinish:
		return "it starts again when the open run has ended"
	}
	return "no instance has looked at its sensor yet: is one running? bellhop instances"
}

func runTable(runs []view.RunRow) cli.Table {
	t := cli.Table{Header: []string{"RUN", "STATE", "VERSION", "BY", "EVENT", "CREATED", "ENDED", "REASON"}}
	for _, r := range runs {
		t.Add(r.ID, r.State, r.Version, r.TriggeredBy, r.Event, r.CreatedAt, r.EndedAt, r.Reason)
	}
	return t
}

func showRun(ctx context.Context, a *cli.App, s *cli.Session, id int64) error {
	runs, err := s.Runs(ctx, nil, &id, 1)
	if err == nil && len(runs) == 0 {
		err = cli.Failed(cli.ExitNotFound, "workflow show", verb.Run.Hint, "there is no run %d", id)
	}
	if err != nil {
		return err
	}
	steps, err := s.Steps(ctx, id)
	if err != nil {
		return err
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			view.RunRow
			Steps []view.StepRow `json:"steps"`
		}{runs[0], steps})
	}
	if err := a.PrintTable(runTable(runs)); err != nil {
		return err
	}
	t := cli.Table{Header: []string{"STEP", "JOB", "TYPE", "STATE", "ATTEMPT", "EXIT", "STARTED", "ENDED", "MEANS",
		"ERROR"}}
	for _, p := range steps {
		t.Add(p.Step, p.Job, p.Type, p.State, p.Attempt, p.ExitCode, p.StartedAt, p.EndedAt,
			workflow.Word(string(p.State), p.Attempt, cli.Text((*string)(p.EndedAs)), cli.Text(p.Cause)), p.Error)
	}
	return a.PrintTable(t)
}

func history(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "history NAME",
		Short:   "List the versions of a workflow, with author and time",
		Long:    "List the versions of a workflow, also of a deleted one: author, time and changes.",
		Example: "  bellhop workflow history nightly",
		Args:    one(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			list, err := s.Versions(ctx, args[0])
			if err == nil && len(list) == 0 {
				err = unknown("history", args[0])
			}
			return cli.PrintRows(a, list, err, "", "VERSION, WHAT, BY, AT", func(v view.VersionRow) []any {
				return []any{v.Version, v.What, v.ChangedBy, v.ChangedAt}
			})
		}),
	}
}

// versionOf reads a version as text.
func versionOf(ctx context.Context, s *cli.Session, verb, name, number string) (
	d workflow.Definition, body string, err error) {
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return d, "", cli.Usage("workflow "+verb, fmt.Sprintf("%q is not a valid version", number), "bellhop workflow history "+name)
	}
	row, ok, err := s.Version(ctx, name, int(n))
	if err == nil && !ok {
		err = cli.Failed(cli.ExitNotFound, "workflow "+verb, "bellhop workflow history "+name,
			"workflow %s has no version %d", name, n)
	}
	if err != nil {
		return d, "", err
	}
	if d, err = workflow.Read(row.Definition); err != nil {
		return d, "", err
	}
	body, err = text(d)
	return d, body, err
}

func diff(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "diff NAME [OLD [NEW]]",
		Short:   "Show the differences between two versions",
		Long:    "Show the differences between two versions. Without NEW it is the last one; without OLD the one before NEW.",
		Example: "  bellhop workflow diff nightly 3 5",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return fmt.Errorf("it takes the name of a workflow, and at most two versions")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			list, err := s.Versions(ctx, args[0])
			if err == nil && len(list) == 0 {
				err = unknown("diff", args[0])
			}
			if err != nil {
				return err
			}
			last := list[len(list)-1].Version
			from, to := strconv.Itoa(max(last-1, list[0].Version)), strconv.Itoa(last)
			if len(args) > 1 {
				from = args[1]
			}
			if len(args) > 2 {
				to = args[2]
			}
			_, before, err := versionOf(ctx, s, "diff", args[0], from)
			if err != nil {
				return err
			}
			_, after, err := versionOf(ctx, s, "diff", args[0], to)
			if err != nil {
				return err
			}
			return a.Printf("%s", cmp.Or(difference(before, after), "they are the same\n"))
		}),
	}
}

func revert(a *cli.App) *cobra.Command {
	var version *int
	c := &cobra.Command{
		Use:   "revert NAME VERSION",
		Short: "Restore a version of a workflow, also of a deleted one",
		Long: `Restore a version of a workflow, also of a deleted one. That makes a new version.
With --version, only if that is its version now.`,
		Example: "  bellhop workflow revert nightly 3\n  bellhop workflow revert nightly 3 --version 5",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("it takes the name of a workflow and a version")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			d, _, err := versionOf(ctx, s, "revert", args[0], args[1])
			if err != nil {
				return err
			}
			return writing{App: a, verb: "revert", version: version}.all(ctx, s, []workflow.Definition{d})
		}),
	}
	seen(c, &version, "only if it has this `version` (0: if there is none)")
	return c
}

func retry(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "retry RUN…",
		Short:   "Continue failed runs at their failed steps",
		Long:    "Continue failed runs at their failed steps. Succeeded steps do not run again.",
		Example: "  bellhop workflow retry 42",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which run? Give its id")
			}
			for _, arg := range args {
				if _, err := strconv.ParseInt(arg, 10, 64); err != nil {
					return fmt.Errorf("%q is not a valid id of a run", arg)
				}
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			for _, arg := range args {
				id, _ := strconv.ParseInt(arg, 10, 64) // checked above
				out, err := verb.Do(ctx, s.Look, "rerun", verb.In{ID: id})
				if err != nil {
					return err
				}
				if err := a.Printf("run %d goes on: %s tried again\n", id, cli.Count(out.N, "step")); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
