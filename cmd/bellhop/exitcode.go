package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

func exitCodeCommand(a *app) *cobra.Command {
	var quiet, wait bool
	c := &cobra.Command{
		Use:   "exit-code ID",
		Short: "Print the exit code of a job, or exit with it",
		Long: `Print the exit code of a job, named by id or key; with -q print nothing and exit
with it.

A job that was killed by signal n has 128+n. A job that is not over has none:
nothing is printed and the exit code is 125. With -q it is 126 when there is no
such job, or when it ended without a code.`,
		Example: "  bellhop exit-code 42\n  bellhop exit-code -q -w nightly; echo $?",
		Args:    a.jobArgs(1, 1),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
			o, err := a.outcome(ctx, s, args[0], wait)
			if quiet && err != nil && explainFailure(err).code == exitNotFound {
				return silent(exitUnknown)
			}
			if err != nil {
				return err
			}
			return a.exitCode(o, quiet)
		}),
	}
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing, exit with the job's code")
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait until the job is over")
	return c
}

// outcome gives the outcome of one job, over or, without wait, not.
func (a *app) outcome(ctx context.Context, s *session, word string, wait bool) (o store.OutcomeRow, err error) {
	id, err := findJob(ctx, s.Look, word)
	if err != nil {
		return o, err
	}
	look := func(ctx context.Context) (news, done bool, err error) {
		outcomes, err := s.Outcomes(ctx, []scheduler.JobID{id})
		if err != nil {
			return false, false, err
		}
		if len(outcomes) == 0 {
			return false, false, failed(exitNotFound, "not found", "bellhop ls", "there is no %s any more", describe(word))
		}
		o = outcomes[0]
		return false, !wait || o.State.Final(), nil
	}
	left := func() []scheduler.JobID { return []scheduler.JobID{id} }
	return o, a.watching(ctx, "exit-code -w", left, func(ctx context.Context) error { return a.poll(ctx, s, look) })
}

func (a *app) exitCode(o store.OutcomeRow, quiet bool) error {
	code := jobExitCode(o)
	if quiet {
		if code == exitOK {
			return nil
		}
		return silent(code)
	}
	if code == exitNotFinished {
		return failed(code, "no exit code yet", fmt.Sprintf("bellhop exit-code -w %d", o.ID), "job %d is %s", o.ID, o.State)
	}
	if a.json() {
		return a.printJSON(o)
	}
	if o.ExitCode == nil && o.State != scheduler.Succeeded {
		a.note("job %d is %s and has no exit code: %d stands for unknown", o.ID, o.State, exitUnknown)
	}
	return a.printf("%d\n", code)
}

// jobExitCode is a job's exit code as a process can give it. Whatever did not
// succeed is not 0: a script must not take it for a success.
func jobExitCode(o store.OutcomeRow) int {
	switch {
	case !o.State.Final():
		return exitNotFinished
	case o.State == scheduler.Succeeded:
		return exitOK
	case o.ExitCode == nil:
		return exitUnknown
	case *o.ExitCode == 0:
		return exitJobFailed
	case *o.ExitCode < 0 || *o.ExitCode > 255:
		return 255
	}
	return *o.ExitCode
}
