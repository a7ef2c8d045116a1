package look

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/sql/view"
)

func ExplainCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID | explain TABLE KEY",
		Short: "Say why a job does not run, or why it ended so",
		Long: `Say why a job, named by id or key, does not run, or why it ended so: every reason,
with a stable code and the command that would change it.
In SQL: select bellhop.explain(42).

With two words: why a row of an attached table, named by its key, does not run.`,
		Example: "  bellhop explain 42\n  bellhop explain nightly -o json\n  bellhop explain images 7",
		Args: a.Args(func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return a.JobArgs(1, 1)(cmd, args)
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return explainRow(ctx, a, s, args[0], args[1])
			}
			job, err := cli.ReadJob(ctx, s.Look, args[0])
			if err != nil {
				return err
			}
			e, err := report.Explain(ctx, s.Look, job)
			if err != nil && !cli.IsDenied(err) { // a user that may not see other jobs is told of its own
				return err
			}
			if a.JSON() {
				return a.PrintJSON(e)
			}
			if err := a.Printf("job %d (%s) %s\n", job.ID, cli.Clean(string(job.Type)), e.Is()); err != nil {
				return err
			}
			if err := a.PrintReasons(e.Reasons); err != nil || e.Forecast == nil {
				return err
			}
			return a.Printf("%s", e.Forecast.Lines(time.Now()))
		}),
	}
}

// explainRow says why a row of an attached table does not run.
func explainRow(ctx context.Context, a *cli.App, s *cli.Session, name, key string) error {
	reasons, err := s.ExplainRow(ctx, name, key)
	if err != nil {
		return cli.AttachRefused(err)
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Attachment string           `json:"attachment"`
			Key        string           `json:"key"`
			Reasons    []view.ReasonRow `json:"reasons"`
		}{name, key, reasons})
	}
	if err := a.Printf("row %s of %s\n", cli.Clean(key), cli.Clean(name)); err != nil {
		return err
	}
	return a.PrintReasons(reasons)
}
