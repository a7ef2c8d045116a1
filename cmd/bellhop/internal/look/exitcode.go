package look

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

func ExitCodeCommand(a *cli.App) *cobra.Command {
	var quiet, wait bool
	c := &cobra.Command{
		Use:   "exit-code ID",
		Short: "Print the exit code of a job, or exit with it",
		Long: `Print the exit code of a job, named by id or key. With -q print nothing, and exit
with that code.

A job that was killed by signal n has 128+n. If the job has not ended, nothing is
printed and the exit code is 125. With -q the exit code is 126 if there is no such
job, or if it ended without a code.`,
		Example: "  bellhop exit-code 42\n  bellhop exit-code -q -w nightly; echo $?",
		Args:    a.JobArgs(1, 1),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			o, err := outcome(ctx, a, s, args[0], wait)
			if quiet && err != nil && cli.ExplainFailure(err).Code == cli.ExitNotFound {
				return cli.Silent(cli.ExitUnknown)
			}
			if err != nil {
				return err
			}
			return exitCode(a, o, quiet)
		}),
	}
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing, exit with the job's code")
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait until the job has ended")
	return c
}

// outcome gives the outcome of one job, over or, without wait, not.
func outcome(ctx context.Context, a *cli.App, s *cli.Session, word string, wait bool) (o view.OutcomeRow, err error) {
	id, err := cli.FindJob(ctx, s.Look, word)
	if err != nil {
		return o, err
	}
	look := func(ctx context.Context) (news, done bool, err error) {
		outcomes, err := s.Outcomes(ctx, []scheduler.JobID{id})
		if err != nil {
			return false, false, err
		}
		if len(outcomes) == 0 {
			return false, false, cli.Failed(cli.ExitNotFound, "not found", "bellhop ls", "there is no %s any more",
				cli.Describe(word))
		}
		o = outcomes[0]
		return false, !wait || o.State.Final(), nil
	}
	left := func() []scheduler.JobID { return []scheduler.JobID{id} }
	return o, a.Watching(ctx, "exit-code -w", left, func(ctx context.Context) error { return a.Poll(ctx, s, look) })
}

func exitCode(a *cli.App, o view.OutcomeRow, quiet bool) error {
	code := jobExitCode(o)
	if quiet {
		if code == cli.ExitOK {
			return nil
		}
		return cli.Silent(code)
	}
	if code == cli.ExitNotFinished {
		return cli.Failed(code, "no exit code yet", fmt.Sprintf("bellhop exit-code -w %d", o.ID), "job %d %s", o.ID,
			o.State.Predicate())
	}
	if a.JSON() {
		return a.PrintJSON(o)
	}
	if o.ExitCode == nil && o.State != scheduler.Succeeded {
		a.Note("job %d %s and has no exit code: %d stands for unknown", o.ID, o.State.Predicate(), cli.ExitUnknown)
	}
	return a.Printf("%d\n", code)
}

// jobExitCode is a job's exit code as a process can give it. Whatever did not
// succeed is not 0: a script must not take it for a success.
func jobExitCode(o view.OutcomeRow) int {
	switch {
	case !o.State.Final():
		return cli.ExitNotFinished
	case o.State == scheduler.Succeeded:
		return cli.ExitOK
	case o.ExitCode == nil:
		return cli.ExitUnknown
	case *o.ExitCode == 0:
		return cli.ExitJobFailed
	case *o.ExitCode < 0 || *o.ExitCode > 255:
		return 255
	}
	return *o.ExitCode
}
