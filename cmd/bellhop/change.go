package main

import (
	"context"

	"github.com/spf13/cobra"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// order is one of release, cancel and retry.
type order func(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error)

// change carries an order out on each job that is named, and says of each what
// it is now (words nil: not a word). Jobs that do not exist are told after the others were done.
func (a *app) change(do order, words func(store.Change) string) func(*cobra.Command, []string) error {
	return a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		jobs, missing, err := findJobs(ctx, s.Look, args)
		if err != nil {
			return err
		}
		changes := []store.Change{}
		for _, job := range jobs {
			c, ok, err := do(ctx, s.Look, job.id)
			switch {
			case err != nil:
				return err
			case !ok: // deleted since we looked
				missing = failed(exitNotFound, "not found", "bellhop ls", "there is no %s", describe(job.word))
				continue
			}
			changes = append(changes, c)
			if a.json() || words == nil {
				continue
			}
			if err := a.printf("%d %s\n", c.ID, words(c)); err != nil {
				return err
			}
		}
		if a.json() {
			if err := a.printJSON(changes); err != nil {
				return err
			}
		}
		return missing
	})
}

func release(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error) {
	return look.Release(ctx, id)
}

func releaseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "release ID...",
		Short:   "Let held jobs run",
		Long:    "Let held jobs run. Jobs are named by id or key. A job that is not held stays what it is.",
		Example: "  bellhop release 42 nightly",
		Args:    a.jobArgs(1, 0),
		RunE: a.change(
			release,
			func(c store.Change) string {
				if c.Was != scheduler.Held {
					return "is not held: it is " + string(c.State)
				}
				return string(c.State)
			}),
	}
}

func cancelCommand(a *app) *cobra.Command {
	var now bool
	c := &cobra.Command{
		Use:   "cancel ID...",
		Short: "End jobs that wait, stop jobs that run",
		Long: `End jobs that wait, stop jobs that run. Jobs are named by id or key.

A job that waits is cancelled at once. One that runs is asked to stop, killed
if it does not, and is cancelled when its last process is gone: see
"bellhop wait". A job that is over stays what it is.`,
		Example: "  bellhop cancel 42 nightly\n  bellhop cancel --now 43",
		Args:    a.jobArgs(1, 0),
		RunE: a.change(
			func(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error) {
				return look.Cancel(ctx, id, now)
			},
			func(c store.Change) string {
				switch {
				case c.Was.Final():
					return "is over already: it is " + string(c.State)
				case c.State == scheduler.Running:
					return "running, asked to stop"
				}
				return string(c.State)
			}),
	}
	c.Flags().BoolVar(&now, "now", false, "kill what runs at once, without asking")
	return c
}

func retryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry ID...",
		Short: "Run jobs that are over once more",
		Long: `Run jobs that are over once more. Jobs are named by id or key. What happened
before is kept as an attempt. A job that is not over stays what it is.`,
		Example: "  bellhop retry 42 nightly",
		Args:    a.jobArgs(1, 0),
		RunE: a.change(
			func(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error) {
				return look.Retry(ctx, id)
			},
			func(c store.Change) string {
				if !c.Was.Final() {
					return "is not over: it is " + string(c.State)
				}
				return string(c.State)
			}),
	}
}
