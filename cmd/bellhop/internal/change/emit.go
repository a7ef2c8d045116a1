package change

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

func EmitCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "emit EVENT [JSON]",
		Short: "Tell the jobs that await an event, now or later",
		Long: `Tell the jobs that await an event, now or later: they go on. The first event of a name stays, with its payload.
Apps do the same in their own transaction: select bellhop.emit('paid.42', '{"sum": 3}').`,
		Example: "  bellhop emit paid.42 '{\"sum\": 3}'",
		Args:    a.Args(cobra.RangeArgs(1, 2)),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			var payload *string
			if len(args) > 1 {
				if !json.Valid([]byte(args[1])) {
					return cli.Usage("emit", fmt.Sprintf("the payload %q is not valid JSON", args[1]), `bellhop emit paid.42 '{"sum": 3}'`)
				}
				payload = &args[1]
			}
			first, err := s.Emit(ctx, args[0], payload)
			if err != nil {
				return err
			}
			if !first {
				return a.Printf("event %s was emitted before: nothing has changed\n", args[0])
			}
			return nil
		}),
	}
}
