package change

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
)

func PruneCommand(a *cli.App) *cobra.Command {
	var older string
	var states []string
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete jobs that were over long ago",
		Long: `Delete jobs that were over long ago, with their attempts and what was logged of
them: those that succeeded or were cancelled, or those that ended as -s says. A
job that another still waits for stays.`,
		Example: "  bellhop prune --older-than 3d\n  bellhop prune --older-than 36h -s failed -s quarantined",
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := cli.ParseStates(states)
			if err != nil {
				return err
			}
			for _, state := range list {
				if !state.Final() {
					return cli.Usage("prune", "a job that is "+string(state)+" is not over", "bellhop cancel ID")
				}
			}
			return Prune(a, cmd, args, older, list, false)
		},
	}
	c.Flags().StringVar(&older, "older-than", "3d", "how `long` they have been over at least, such as 3d or 36h")
	c.Flags().StringSliceVarP(&states, "state", "s", []string{string(scheduler.Succeeded), string(scheduler.Cancelled)}, "how they `ended`; repeatable")
	return c
}

// Prune deletes jobs that ended so, and says how many; with rjm, RJM's only.
func Prune(a *cli.App, cmd *cobra.Command, args []string, older string, states []scheduler.JobState, rjm bool) error {
	age, err := parseAge(older)
	if err != nil {
		return cli.Usage(cmd.Name(), "--older-than "+strconv.Quote(older)+": "+err.Error(), "bellhop "+cmd.Name()+" --older-than 3d")
	}
	return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
		n, err := s.Prune(ctx, age, states, rjm)
		if err != nil {
			return err
		}
		if a.JSON() {
			return a.PrintJSON(struct {
				Deleted int64 `json:"deleted"`
			}{n})
		}
		return a.Printf("%d deleted\n", n)
	})(cmd, args)
}

var errBadAge = errors.New("want a time span such as 3d, 36h or 0s")

// parseAge reads a time span, also in days.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	age, err := time.ParseDuration(text)
	if err != nil || age < 0 {
		return 0, errBadAge
	}
	return age, nil
}
