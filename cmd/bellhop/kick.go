package main

import (
	"context"

	"github.com/spf13/cobra"
)

func kickCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "kick",
		Short:   "Make every instance look for work now",
		Long:    "Make every instance look for work now. Nothing depends on it: an instance that was not rung looks by itself after a while.",
		Example: "  bellhop kick",
		Args:    a.noArgs(),
		RunE: a.withDatabase(func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
			return s.Kick(ctx)
		}),
	}
}
