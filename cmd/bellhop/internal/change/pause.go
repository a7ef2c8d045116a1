package change

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
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

func typeOf(args []string) *scheduler.TypeName {
	if len(args) == 0 {
		return nil
	}
	t := scheduler.TypeName(args[0])
	return &t
}

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
			t := typeOf(args)
			if err := s.Pause(ctx, t); err != nil {
				return err
			}
			if t == nil {
				return a.Printf("everything is paused\n")
			}
			if err := warnUnknown(ctx, a, s, *t); err != nil {
				return err
			}
			return a.Printf("%s is paused\n", *t)
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
			t := typeOf(args)
			was, still, err := s.Resume(ctx, t)
			switch {
			case err != nil:
				return err
			case still:
				return cli.Failed(cli.ExitState, "resume", "bellhop resume", "everything is paused, %s with it", *t)
			case !was && t == nil:
				return a.Printf("nothing was paused\n")
			case !was:
				return a.Printf("%s was not paused\n", *t)
			case t == nil:
				return a.Printf("everything may start again\n")
			}
			return a.Printf("%s may start again\n", *t)
		}),
	}
}
