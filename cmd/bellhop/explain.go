package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/scheduler"
	"bellhop/sql/store"
)

// explained is a job with all that is to be said about it.
type explained struct {
	ID      scheduler.JobID    `json:"id"`
	Type    scheduler.TypeName `json:"type"`
	State   scheduler.JobState `json:"state"`
	Reasons []store.ReasonRow  `json:"reasons"`
}

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID | explain TABLE KEY",
		Short: "Say why a job does not run, or why it ended as it did",
		Long: `Say why a job, named by id or key, does not run, or why it ended as it did: every
reason with a code that stays the same, and the command that would change it.
In SQL: select bellhop.explain(42).

With two words: why a row of an attached table, named by its key, does not run.`,
		Example: "  bellhop explain 42\n  bellhop explain nightly -o json\n  bellhop explain images 7",
		Args: a.args(func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return a.jobArgs(1, 1)(cmd, args)
		}),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return a.explainRow(ctx, s, args[0], args[1])
			}
			id, err := findJob(ctx, s.Look, args[0])
			if err != nil {
				return err
			}
			job, ok, err := s.Job(ctx, id)
			if err != nil {
				return err
			}
			if !ok { // deleted since we looked
				return failed(exitNotFound, "not found", "bellhop ls", "there is no %s", describe(args[0]))
			}
			reasons, err := s.Explain(ctx, id)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(explained{id, job.Type, job.State, reasons})
			}
			if err := a.printf("job %d (%s) is %s\n", id, clean(string(job.Type)), job.State); err != nil {
				return err
			}
			return a.printReasons(reasons)
		}),
	}
}

func (a *app) printReasons(reasons []store.ReasonRow) error {
	for _, r := range reasons {
		lines := strings.Split(r.Sentence, "\n")
		for i := range lines {
			lines[i] = clean(lines[i])
		}
		if err := a.printf("  %s: %s\n    -> %s\n", r.Code, strings.Join(lines, "\n"), clean(r.Next)); err != nil {
			return err
		}
	}
	return nil
}

// explainRow says why a row of an attached table does not run.
func (a *app) explainRow(ctx context.Context, s *session, name, key string) error {
	reasons, err := s.ExplainRow(ctx, name, key)
	if err != nil {
		return attachRefused(err)
	}
	if a.json() {
		return a.printJSON(struct {
			Attachment string            `json:"attachment"`
			Key        string            `json:"key"`
			Reasons    []store.ReasonRow `json:"reasons"`
		}{name, key, reasons})
	}
	if err := a.printf("row %s of %s\n", clean(key), clean(name)); err != nil {
		return err
	}
	return a.printReasons(reasons)
}
