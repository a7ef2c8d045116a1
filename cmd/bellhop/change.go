package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// order is one of release, cancel and retry.
type order struct {
	do func(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error)
	// words is what is said of a job; nil: not a word.
	words func(store.Change) string
	// refused says that the job was left as it was, and what to type; nil: what was asked for holds.
	refused func(store.Change) error
}

// change carries an order out on each job that is named. Jobs that do not exist,
// or that are in no state for it, are told after the others were done.
func (a *app) change(o order) func(*cobra.Command, []string) error {
	return a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		jobs, missing, err := findJobs(ctx, s.Look, args)
		if err != nil {
			return err
		}
		changes := []store.Change{}
		var bad error
		for _, job := range jobs {
			c, ok, err := o.do(ctx, s.Look, job.id)
			switch {
			case err != nil:
				return err
			case !ok: // deleted since we looked
				missing = failed(exitNotFound, "not found", "bellhop ls", "there is no %s", describe(job.word))
				continue
			}
			changes = append(changes, c)
			if o.refused != nil {
				bad = cmp.Or(bad, o.refused(c))
			}
			if a.json() || o.words == nil {
				continue
			}
			if err := a.printf("%d %s\n", c.ID, o.words(c)); err != nil {
				return err
			}
		}
		if a.json() {
			if err := a.printJSON(changes); err != nil {
				return err
			}
		}
		return cmp.Or(missing, bad)
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
		RunE: a.change(order{do: release, words: func(c store.Change) string {
			if c.Was != scheduler.Held {
				return "is not held: it is " + string(c.State)
			}
			return string(c.State)
		}}),
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
		RunE: a.change(order{
			do: func(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error) {
				return look.Cancel(ctx, id, now)
			},
			words: func(c store.Change) string {
				switch {
				case c.Was.Final():
					return "is over already: it is " + string(c.State)
				case c.State == scheduler.Running:
					return "running, asked to stop"
				}
				return string(c.State)
			}}),
	}
	c.Flags().BoolVar(&now, "now", false, "kill what runs at once, without asking")
	return c
}

func retryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry ID...",
		Short: "Run jobs that are over once more",
		Long: `Run jobs that are over once more. Jobs are named by id or key. What happened
before is kept as an attempt. A job that is not over stays what it is, and the
exit code is 7.`,
		Example: "  bellhop retry 42 nightly",
		Args:    a.jobArgs(1, 0),
		RunE: a.change(order{
			do: func(ctx context.Context, look store.Look, id scheduler.JobID) (store.Change, bool, error) {
				return look.Retry(ctx, id)
			},
			words: func(c store.Change) string {
				if !c.Was.Final() {
					return "is not over: it is " + string(c.State)
				}
				return string(c.State)
			},
			refused: func(c store.Change) error {
				if c.Was.Final() {
					return nil
				}
				return failed(exitState, "retry", fmt.Sprintf("bellhop wait %d   or: bellhop cancel %[1]d", c.ID),
					"job %d is %s: only a job that is over gets a new attempt", c.ID, c.Was)
			}}),
	}
}
