package change

import (
	"context"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

func KickCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "kick",
		Short:   "Make every instance look for work now",
		Long:    "Make every instance look for work now. Nothing depends on it: without a ring, an instance still looks after a while.",
		Example: "  bellhop kick",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			return s.Kick(ctx)
		}),
	}
}
