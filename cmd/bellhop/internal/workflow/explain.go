package workflow

import (
	"context"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// explained is a workflow in JSON, with all that is to be said about it.
type explained struct {
	Workflow string           `json:"workflow"`
	Active   bool             `json:"active"`
	Reasons  []view.ReasonRow `json:"reasons"`
}

func explain(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Say what starts a workflow, and why it does not start",
		Long: `Say what starts a workflow, and why it does not start: whether it is active, which
instances could start it, when its schedule is next due or which event its sensor waits
for, its errors, and its open runs. In SQL: select * from bellhop.explain_workflow('nightly').`,
		Example: "  bellhop workflow explain nightly\n  bellhop workflow explain nightly -o json",
		Args:    one(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			rows, err := s.Workflows(ctx, view.WorkflowFilter{Names: view.Exactly(args[0])})
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return unknown("explain", args[0])
			}
			reasons, err := s.ExplainWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(explained{args[0], rows[0].Active, reasons})
			}
			is := "active"
			if !rows[0].Active {
				is = "not active"
			}
			if err := a.Printf("workflow %s is %s\n", rows[0].Name, is); err != nil {
				return err
			}
			return a.PrintReasons(reasons)
		}),
	}
}
