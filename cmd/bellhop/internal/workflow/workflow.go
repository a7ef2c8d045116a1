// Package workflow is the commands of workflows: definitions, runs, and when a
// schedule comes around.
package workflow

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

// Command is the commands of workflows.
func Command(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "workflow {apply | ls | projects | show | run | runs | events | retry | history | diff | revert | export | …}",
		Short: "Define workflows, start runs, and look at both",
		Long: `Define workflows, start runs, and look at both. A workflow has a sensor, which starts it
(a clock, a table, a file …), and steps: jobs that need each other. docs/workflows.md leads
from a file to a run.`,
		Example: `  bellhop workflow apply nightly.yaml
  bellhop workflow run nightly --param DAY=2026-11-22 --wait
  bellhop workflow show nightly`,
	}
	a.Menu(c)
	c.AddCommand(apply(a), importCommand(a), export(a), ls(a), projects(a), runs(a), events(a), show(a), explain(a),
		run(a), retry(a), history(a), diff(a), revert(a), notify(a),
		change(a, "activate", "activated", "Let sensors start workflows"),
		change(a, "deactivate", "deactivated", "Keep sensors from starting workflows, and queued runs from beginning; runs by hand still start"),
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

func unknown(command, name string) error {
	return cli.Failed(cli.ExitNotFound, "workflow "+command, verb.Workflow.Hint, "there is no workflow %s", name)
}

// definition reads one workflow, which must be there.
func definition(ctx context.Context, l view.Look, command, name string) (
	d workflow.Definition, version int, err error,
) {
	list, err := l.Definitions(ctx, view.Exactly(name))
	if err == nil && len(list) == 0 {
		err = unknown(command, name)
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

func change(a *cli.App, name, what, short string) *cobra.Command {
	var version *int
	c := &cobra.Command{
		Use:   name + " NAME…",
		Short: short,
		Long: short + `.
In NAME, * stands for any letters, ? for one letter.
With --version, only if that is its version.`,
		Example: "  bellhop workflow " + name + " nightly\n  bellhop workflow " + name + " 'import-*'",
		Args:    names(a, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			if version != nil && (len(args) != 1 || strings.ContainsAny(args[0], "*?")) {
				return cli.Usage("workflow "+name, "--version takes one workflow", "bellhop workflow "+name+" NAME --version 3")
			}
			var missing []error
			for _, pattern := range args {
				list, err := s.Workflows(ctx, view.WorkflowFilter{Names: view.Like([]string{pattern})})
				if err != nil {
					return err
				}
				if len(list) == 0 {
					missing = append(missing, unknown(name, pattern))
				}
				for _, w := range list {
					out, err := verb.Do(ctx, s.Look, name, verb.In{Name: w.Name, Version: version})
					if err != nil {
						return err
					}
					word := what
					if !out.Changed {
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
	seen(c, &version, "only if it has this `version`")
	return c
}

// seen is --version of an edit: the version that was looked at; nil: whichever there is.
func seen(c *cobra.Command, version **int, usage string) {
	c.Flags().Func("version", usage, func(text string) error {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is not a valid version", text)
		}
		v := int(n)
		*version = &v
		return nil
	})
}
