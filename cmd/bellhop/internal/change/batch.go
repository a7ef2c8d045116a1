package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// BatchCommand begins batches, and counts how their jobs stand.
func BatchCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "batch {begin|count}",
		Short: "Run a job when all jobs of a group have ended",
		Long: `A batch is a job that runs when all jobs of a group have ended. Its id or key names
the group. Begin it, submit the group's jobs, then release it:

  bellhop batch begin report 7 --key import.7
  bellhop submit mail a@example.org --batch import.7
  bellhop submit mail b@example.org --batch import.7
  bellhop release import.7

"bellhop wait import.7" waits for its end. graph, explain and cancel work as for any
other job.`,
		Example: "  bellhop batch begin report 7 --key import.7\n  bellhop batch count import.7",
	}
	a.Menu(c)
	c.AddCommand(beginBatch(a), countBatch(a))
	return c
}

func beginBatch(a *cli.App) *cobra.Command {
	var key, onFailure string
	c := &cobra.Command{
		Use:   "begin [TYPE [ARGS]]",
		Short: "Begin a batch: a job of TYPE runs when all its jobs have ended; prints its id",
		Long: `Begin a batch, and print its id. A job of TYPE, with ARGS, runs when all jobs submitted
with --batch have ended, and not before bellhop release. Without TYPE the batch runs
nothing, but bellhop wait can wait for it. If a batch with this --key and the same
content exists, its id is printed.`,
		Example: "  bellhop batch begin report 7 --key import.7\n  bellhop batch begin --on-failure fail",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("it takes one TYPE and one ARGS, got %d words: put quotes around ARGS", len(args))
			}
			switch onFailure {
			case "run", "fail", "block":
				return nil
			}
			return fmt.Errorf("--on-failure %q: it is run, fail or block", onFailure)
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			job := view.Submission{Type: "dummy", Held: true, OnFailure: &onFailure}
			if len(args) > 0 {
				job.Type = scheduler.TypeName(args[0])
			}
			if len(args) > 1 {
				job.Args = &args[1]
			}
			if key != "" {
				job.Key = &key
			}
			return submit(ctx, a, s, job, false)
		}),
	}
	c.Flags().StringVar(&key, "key", "", "a `name` for the batch that no other job has")
	c.Flags().StringVar(&onFailure, "on-failure", "run",
		"if a job of it fails: run when all have ended; `fail` at once; block until a retry of that job succeeds")
	return c
}

// countedBatch is a batch in JSON.
type countedBatch struct {
	ID scheduler.JobID `json:"id"`
	view.BatchCount
}

func countBatch(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "count ID...",
		Short:   "Count the jobs of batches by state",
		Example: "  bellhop batch count import.7\n  bellhop batch count 42 43 -o json",
		Args:    a.JobArgs(1, 0),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			jobs, missing, err := cli.FindJobs(ctx, s.Look, args)
			if err != nil {
				return err
			}
			list := []countedBatch{}
			t := cli.Table{
				Header: []string{"ID", "JOBS", "WAITING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "QUARANTINED"},
			}
			for _, job := range jobs {
				b, ok, err := s.BatchCount(ctx, job.ID)
				switch {
				case err != nil:
					return err
				case !ok: // deleted since we looked
					missing = cli.Failed(cli.ExitNotFound, "not found", "bellhop ls", "there is no %s", cli.Describe(job.Word))
					continue
				}
				list = append(list, countedBatch{job.ID, b})
				t.Add(job.ID, b.Jobs, b.Waiting, b.Running, b.Succeeded, b.Failed, b.Cancelled, b.Quarantined)
			}
			if a.JSON() {
				return errors.Join(a.PrintJSON(list), missing)
			}
			return errors.Join(a.PrintTable(t), missing)
		}),
	}
}
