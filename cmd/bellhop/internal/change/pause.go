package change

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/verb"
)

// typeArg takes one type, or none for all.
func typeArg(a *cli.App) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) > 1 || len(args) == 1 && args[0] == "" {
			return fmt.Errorf("it takes one type, or none for all of them")
		}
		return nil
	})
}

// typed is the type that was given; empty: all.
func typed(args []string) string { return strings.Join(args, "") }

func PauseCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pause [TYPE]",
		Short: "Stop starting jobs of a type, or any job",
		Long: `Stop starting jobs of TYPE; without TYPE, any job. Running jobs go on, but no
further items of a running query (MSQ job) start. A pause holds for every instance,
and over restarts, until "bellhop resume".`,
		Example: "  bellhop pause license\n  bellhop pause",
		Args:    typeArg(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			t := typed(args)
			if _, err := verb.Do(ctx, s.Look, "pause", verb.In{Name: t}); err != nil {
				return err
			}
			if t == "" {
				return a.Printf("everything is paused\n")
			}
			if err := warnUnknown(ctx, a, s, scheduler.TypeName(t)); err != nil {
				return err
			}
			return a.Printf("%s is paused\n", t)
		}),
	}
}

func ResumeCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "resume [TYPE]",
		Short:   "Start paused jobs again",
		Long:    "Start paused jobs of TYPE again; without TYPE, all paused jobs.",
		Example: "  bellhop resume license\n  bellhop resume",
		Args:    typeArg(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			t := typed(args)
			out, err := verb.Do(ctx, s.Look, "resume", verb.In{Name: t})
			switch {
			case err != nil:
				return err
			case out.Still:
				return cli.Failed(cli.ExitState, "resume", "bellhop resume", "everything is paused, %s with it", t)
			case !out.Changed && t == "":
				return a.Printf("nothing was paused\n")
			case !out.Changed:
				return a.Printf("%s was not paused\n", t)
			case t == "":
				return a.Printf("everything may start again\n")
			}
			return a.Printf("%s may start again\n", t)
		}),
	}
}
