package workflow

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/cron"
)

// CronCommand explains schedules.
func CronCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "cron {explain}",
		Short:   "Explain schedules of cron",
		Example: "  bellhop cron explain '30 2 * * *' --zone Europe/Prague",
	}
	a.Menu(c)
	c.AddCommand(explainCron(a))
	return c
}

func explainCron(a *cli.App) *cobra.Command {
	var zone, from string
	n := 5
	c := &cobra.Command{
		Use:   "explain SPEC",
		Short: "Describe a schedule in words, with its next times",
		Long: `Describe a schedule in words, with its next times. SPEC is five fields (minute hour day
month weekday), six with seconds first, or @hourly @daily @weekly @monthly @yearly.

When clocks are put forward, a fixed time inside the gap fires at the end of the gap. When
clocks are put back, a fixed time that comes twice fires only the first time. A schedule with
a * among seconds, minutes and hours follows elapsed time: it has no gap and no double.`,
		Example: "  bellhop cron explain '30 2 * * *' --zone Europe/Prague\n  bellhop cron explain '*/15 8-17 * * MON-FRI' -n 20",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("it takes one schedule: put quotes around it")
			}
			return nil
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := cron.Parse(args[0], zone)
			if err != nil {
				return cli.Usage("cron explain", err.Error(), "bellhop cron explain '0 2 * * *' --zone Europe/Prague")
			}
			at := time.Now()
			if from != "" {
				if at, err = time.Parse(time.RFC3339, from); err != nil {
					return cli.Usage("cron explain", fmt.Sprintf("--from %q is not a valid time", from), "--from 2026-10-24T12:00:00Z")
				}
			}
			e := s.Explain(at, n)
			if a.JSON() {
				return a.PrintJSON(e)
			}
			if err := a.Printf("%s\n", e.Says); err != nil {
				return err
			}
			for _, next := range e.Next {
				local := next.In(s.Zone()).Format("Mon 2006-01-02 15:04:05 MST")
				if err := a.Printf("  %s  %s\n", local, next.Format(time.RFC3339)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&zone, "zone", "", "the time `zone` (default UTC)")
	c.Flags().StringVar(&from, "from", "", "times after this one, like 2026-10-24T12:00:00Z (default: now)")
	c.Flags().IntVarP(&n, "limit", "n", n, "number of times")
	return c
}
