// Package workflow is the commands of workflows: definitions, runs, and when a
// schedule comes around.
package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/scheduler/workflow"
	"bellhop/sql/store"
)

const listing = "bellhop workflow ls   shows the workflows there are"

// Command is the commands of workflows.
func Command(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "workflow {apply | ls | show | run | retry | history | diff | revert | export | …}",
		Short: "Define workflows, start their runs, and look at both",
		Long: `Define workflows, start their runs, and look at both. A workflow is what starts it (a
sensor: cron, every, another workflow's outcome) and steps: jobs that need each
other. docs/workflows.md leads from a file to a run.`,
		Example: `  bellhop workflow apply nightly.yaml
  bellhop workflow run nightly --param DAY=2026-11-22 --wait
  bellhop workflow show nightly`,
	}
	a.Menu(c)
	c.AddCommand(apply(a), importCommand(a), export(a), ls(a), show(a), run(a), retry(a), history(a), diff(a), revert(a),
		change(a, "activate", "activated", "Let sensors start workflows"),
		change(a, "deactivate", "deactivated", "Keep sensors from starting workflows; runs go on, and by hand they start"),
		change(a, "delete", "deleted", "Delete workflows; their runs and their history are kept"))
	return c
}

// names takes names or patterns, at least so many.
func names(a *cli.App, least int) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return errors.New("which workflow? Give its name, or a pattern like 'nightly-*'")
		}
		return nil
	})
}

// one takes one name.
func one(a *cli.App) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New("it takes the name of one workflow")
		}
		return nil
	})
}

// like turns patterns with * and ? into those of SQL.
func like(patterns []string) (list []string) {
	r := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`, `?`, `_`)
	for _, p := range patterns {
		list = append(list, r.Replace(p))
	}
	return list
}

// exactly turns a name into a pattern of SQL that means no other.
func exactly(name string) []string {
	return []string{strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(name)}
}

func unknown(verb, name string) error {
	return cli.Failed(cli.ExitNotFound, "workflow "+verb, listing, "there is no workflow %s", name)
}

// definition reads one workflow, which must be there.
func definition(ctx context.Context, l store.Look, verb, name string) (d workflow.Definition, version int, err error) {
	list, err := l.Definitions(ctx, exactly(name))
	if err == nil && len(list) == 0 {
		err = unknown(verb, name)
	}
	if err != nil {
		return d, 0, err
	}
	d, err = workflow.Read(list[0].Definition)
	return d, list[0].Version, err
}

// text is a definition as people write it.
func text(d workflow.Definition) (string, error) {
	out, err := config.WriteWorkflow(d)
	return string(out), err
}

// difference is what has to be done to one text to get the other.
func difference(from, to string) string {
	lines := func(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }
	a, b := lines(from), lines(to)
	if from == "" {
		a = nil
	}
	if to == "" {
		b = nil
	}
	list := workflow.Diff(a, b)
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

func change(a *cli.App, verb, what, short string) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " NAME…",
		Short:   short,
		Long:    short + ". * and ? in a name stand for any letters, and for one.",
		Example: "  bellhop workflow " + verb + " nightly\n  bellhop workflow " + verb + " 'import-*'",
		Args:    names(a, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			var missing []error
			for _, pattern := range args {
				list, err := s.Workflows(ctx, like([]string{pattern}), nil)
				if err != nil {
					return err
				}
				if len(list) == 0 {
					missing = append(missing, unknown(verb, pattern))
				}
				for _, w := range list {
					was, err := s.ChangeWorkflow(ctx, w.Name, what)
					if err != nil {
						return err
					}
					word := what
					if was != nil && !*was {
						word = "is " + what + " already"
					}
					if err := a.Printf("%s %s\n", w.Name, word); err != nil {
						return err
					}
				}
			}
			if len(missing) > 0 {
				return missing[0]
			}
			return nil
		}),
	}
}

// parameters reads --param NAME=VALUE.
func parameters(list []string) (map[string]string, error) {
	given := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, cli.Usage("workflow run", fmt.Sprintf("--param %q is no NAME=VALUE", p), "--param DAY=2026-11-22")
		}
		given[name] = value
	}
	return given, nil
}

func run(a *cli.App) *cobra.Command {
	var params, steps []string
	var from string
	var wait bool
	c := &cobra.Command{
		Use:   "run NAME…",
		Short: "Start a run by hand; prints its id",
		Long: `Start a run by hand; prints its id. It is never skipped: where a run of the workflow is
open, it waits until that is over.

With --step only these steps run, with --from that one and all that need it, by way of others too.`,
		Example: "  bellhop workflow run nightly --param DAY=2026-11-22\n  bellhop workflow run nightly --from convert --wait",
		Args:    names(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := parameters(params)
			if err != nil {
				return err
			}
			if from != "" && len(steps) > 0 {
				return cli.Usage("workflow run", "--from and --step do not go together", "bellhop workflow run NAME --from STEP")
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				var ids []int64
				for _, name := range args {
					chosen := steps
					if from != "" {
						d, _, err := definition(ctx, s.Look, "run", name)
						if err != nil {
							return err
						}
						if chosen, err = workflow.From(d.Steps, from); err != nil {
							return cli.Usage("workflow run", err.Error(), "bellhop workflow show "+name)
						}
					}
					id, err := s.RunWorkflow(ctx, name, given, chosen)
					if err == nil && id == nil {
						err = unknown("run", name)
					}
					if err != nil {
						return err
					}
					ids = append(ids, *id)
					if err := printRun(a, *id); err != nil {
						return err
					}
				}
				if wait {
					return await(ctx, a, s, ids)
				}
				return nil
			})(cmd, args)
		},
	}
	c.Flags().StringArrayVar(&params, "param", nil, "`NAME=VALUE` of a parameter; repeatable")
	c.Flags().StringSliceVar(&steps, "step", nil, "a `step` to run, and no other; repeatable")
	c.Flags().StringVar(&from, "from", "", "the `step` to begin with")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the run is over; exit code 1 when it did not succeed")
	return c
}

func printRun(a *cli.App, id int64) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Run int64 `json:"run"`
		}{id})
	}
	return a.Printf("%d\n", id)
}

// await waits until runs are over.
func await(ctx context.Context, a *cli.App, s *cli.Session, ids []int64) error {
	bad := false
	err := a.Poll(ctx, s, func(ctx context.Context) (news, done bool, err error) {
		for len(ids) > 0 {
			list, err := s.Runs(ctx, nil, &ids[0], 1)
			if err != nil || len(list) == 0 {
				return news, err == nil, err
			}
			r := list[0]
			if !slices.Contains(workflow.RunStates, r.State) {
				return news, false, nil
			}
			bad = bad || r.State != "succeeded"
			line := fmt.Sprintf("run %d %s", r.ID, r.State)
			if r.Reason != nil {
				line += ": " + *r.Reason
			}
			a.Note("%s", cli.Clean(line))
			ids, news = ids[1:], true
		}
		return news, true, nil
	})
	if err == nil && bad {
		return cli.Silent(cli.ExitJobFailed)
	}
	return err
}
