// Package change has the commands that add jobs, change them, and wait for what becomes of them.
package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/verb"
)

// Order is one of release, cancel and retry.
type Order struct {
	Do func() (verb string, in verb.In)
	// words is what is said of a job; nil: not a word.
	words func(view.Change) string
	// refused says that the job was left as it was, and what to type; nil: what was asked for holds.
	refused func(view.Change) error
	// trial: it is carried out in a transaction that is taken back.
	trial bool
}

// Change carries an order out on each job that is named. Jobs that do not exist,
// or that are in no state for it, are told after the others were done.
func Change(a *cli.App, o Order) func(*cobra.Command, []string) error {
	return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
		jobs, missing, err := cli.FindJobs(ctx, s.Look, args)
		if err != nil {
			return err
		}
		look := s.Look
		if o.trial {
			tx, err := s.Conn.Begin(ctx)
			if err != nil {
				return fmt.Errorf("begin a transaction: %w", err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // what is lost with the connection is taken back, too
			look = view.NewLook(tx)
		}
		changes := []view.Change{}
		var bad error
		for _, job := range jobs {
			name, in := o.Do()
			in.Jobs = []scheduler.JobID{job.ID}
			out, err := verb.Do(ctx, look, name, in)
			var gone *verb.Missing
			switch {
			case err != nil && !errors.As(err, &gone):
				return err
			case len(out.Jobs) == 0: // deleted since we looked
				missing = cli.Failed(cli.ExitNotFound, "not found", "bellhop ls", "there is no %s", cli.Describe(job.Word))
				continue
			}
			c := out.Jobs[0]
			changes = append(changes, c)
			if o.refused != nil {
				bad = cmp.Or(bad, o.refused(c))
			}
			if a.JSON() || o.words == nil {
				continue
			}
			if err := a.Printf("%d %s\n", c.ID, o.words(c)); err != nil {
				return err
			}
		}
		if a.JSON() {
			if err := a.PrintJSON(changes); err != nil {
				return err
			}
		}
		return cmp.Or(missing, bad)
	})
}

// Release is the verb.
func Release() (string, verb.In) { return "release", verb.In{} }

func ReleaseCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "release ID...",
		Short:   "Let held jobs run",
		Long:    "Let held jobs run. Jobs are named by id or key. A job that is not held does not change.",
		Example: "  bellhop release 42 nightly",
		Args:    a.JobArgs(1, 0),
		RunE: Change(a, Order{Do: Release, words: func(c view.Change) string {
			if c.Was != scheduler.Held {
				return "is not held: it is " + string(c.State)
			}
			return string(c.State)
		}}),
	}
}

func CancelCommand(a *cli.App) *cobra.Command {
	var now bool
	open := append(slices.Clone(waiting), scheduler.Assigned, scheduler.Running)
	s := sweep{verb: "cancel", done: "cancelled, or asked to stop", allowed: open, usual: open, preview: true}
	s.order = func() (string, verb.In) {
		if now {
			return "kill", verb.In{}
		}
		return "cancel", verb.In{}
	}
	c := &cobra.Command{
		Use:   "cancel ID... | cancel -s STATE -t TYPE",
		Short: "Cancel waiting jobs, stop running jobs",
		Long: `Cancel waiting jobs, stop running jobs. Jobs are named by id or key.

A waiting job is cancelled at once. A running job is asked to stop, and killed if
it does not. It is cancelled when its last process has ended: see "bellhop wait".
A job that has ended does not change. Jobs that need a cancelled job fail, stay
blocked, or run, as their --on-failure says: --dry-run lists them.

-s and -t select among all jobs that have not ended. A thousand are changed at a
time; Ctrl-C stops after those, and their changes stay. --dry-run says how many
jobs would change.`,
		Example: "  bellhop cancel 42 nightly\n  bellhop cancel --now 43\n  bellhop cancel 42 --dry-run\n  bellhop cancel -s ready -t mail --dry-run",
		Args:    s.args(a),
	}
	do := Change(a, Order{
		Do: s.order,
		words: func(c view.Change) string {
			switch {
			case c.Was.Final():
				return "has already ended: it " + c.State.Predicate()
			case c.State == scheduler.Running:
				return "running, asked to stop"
			}
			return string(c.State)
		}})
	c.RunE = s.or(a, func(cmd *cobra.Command, args []string) error {
		if s.dryRun {
			return foretell(a)(cmd, args)
		}
		return do(cmd, args)
	})
	s.flags(c)
	c.Flags().BoolVar(&now, "now", false, "kill running jobs at once, without asking them to stop")
	return c
}

func RetryCommand(a *cli.App) *cobra.Command {
	s := sweep{
		verb: "retry", done: "ready to run once more", preview: true,
		allowed: []scheduler.JobState{scheduler.Failed, scheduler.Quarantined, scheduler.Cancelled, scheduler.Succeeded},
		usual:   []scheduler.JobState{scheduler.Failed, scheduler.Quarantined},
	}
	var behind bool
	var from string
	s.order = func() (string, verb.In) {
		switch {
		case behind:
			return "behind", verb.In{}
		case from != "":
			return "retry_from", verb.In{From: from}
		}
		return "retry", verb.In{}
	}
	c := &cobra.Command{
		Use:   "retry ID... | retry -s STATE -t TYPE",
		Short: "Run finished jobs again",
		Long: `Run finished jobs again. Jobs are named by id or key. Earlier attempts are kept.
A job that has not ended does not change, and the exit code is 7. With --behind,
finished jobs that need it, directly or through others, run again too; its earlier
outcome does not count for them any more. --dry-run says how many these are.
With --from, a job that keeps steps forgets the named one and those that came after
it: "bellhop show" lists them. Without it, the job goes on after its last step.

-s and -t select jobs by state and type: failed and quarantined ones, unless -s
names other states. A thousand are retried at a time; Ctrl-C stops after those,
and they stay retried. --dry-run says how many jobs would be retried.`,
		Example: "  bellhop retry 42 nightly\n  bellhop retry --behind 42 --dry-run\n  bellhop retry --from charge 42\n  bellhop retry -s failed -t mail --dry-run",
		Args:    s.args(a),
	}
	do := Change(a, Order{
		Do: s.order,
		words: func(c view.Change) string {
			if !c.Was.Final() {
				return "has not ended: it is " + string(c.State)
			}
			return string(c.State)
		},
		refused: refuseUnfinished})
	c.RunE = s.or(a, func(cmd *cobra.Command, args []string) error {
		if s.dryRun {
			return foretellBehind(a)(cmd, args)
		}
		return do(cmd, args)
	})
	c.PreRunE = func(*cobra.Command, []string) error { return s.checkRetry(behind, from) }
	c.Flags().StringVar(&from, "from", "", "with IDs: forget this step of a job's work, and those after it")
	c.Flags().BoolVar(&behind, "behind", false, "with IDs: also the jobs that need them; for operators")
	s.flags(c)
	return c
}

// checkRetry refuses flags of retry that do not go together.
func (s *sweep) checkRetry(behind bool, from string) error {
	switch {
	case behind && s.given():
		return cli.Usage("retry", "--behind goes with IDs, not with -s and -t", "bellhop retry --behind 42")
	case from != "" && s.given():
		return cli.Usage("retry", "--from goes with IDs, not with -s and -t", "bellhop retry --from charge 42")
	case from != "" && behind:
		return cli.Usage("retry", "--from does not go with --behind", "bellhop retry --from charge 42")
	}
	if s.dryRun && !s.given() && !behind {
		return cli.Usage("retry", "--dry-run goes with -s and -t, or with --behind", "bellhop retry --behind 42 --dry-run")
	}
	return nil
}

func refuseUnfinished(c view.Change) error {
	if c.Was.Final() {
		return nil
	}
	return cli.Failed(cli.ExitState, "retry", fmt.Sprintf("bellhop wait %d   or: bellhop cancel %[1]d", c.ID),
		"job %d is %s: only a finished job gets a new attempt", c.ID, c.Was)
}
