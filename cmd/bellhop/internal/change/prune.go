package change

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

func PruneCommand(a *cli.App) *cobra.Command {
	var older, since, until, archive string
	var states []string
	var dry bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete jobs that ended long ago",
		Long: `Delete jobs that ended long ago, with their attempts and logs: succeeded and
cancelled ones, or those in the states that -s names. A job that another job still
waits for stays. --since and --until select by time of end, in place of
--older-than; for steps the end of their run counts. --archive first writes each
job to a table of yours. bellhop serve also prunes, as retention in bellhop.yaml
says: docs/retention.md.

Without a flag, and on a terminal, it lists the jobs and asks. Elsewhere, as in
scripts, it deletes jobs that ended 3 days ago or earlier.`,
		Example: `  bellhop prune --older-than 3d
  bellhop prune --older-than 36h -s failed -s quarantined
  bellhop prune --since 2026-01-01 --until 2026-04-01 --archive old.jobs
  bellhop prune --until 2026-04-01 --dry-run`,
		Args: a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("older-than") && until != "" {
				return cli.Usage("prune", "--older-than and --until both set the latest end", "bellhop prune --until "+until)
			}
			f, err := pruned(older, since, until, states)
			if err != nil {
				return err
			}
			if dry {
				return pruneCount(a, cmd, args, f)
			}
			said := slices.ContainsFunc([]string{"older-than", "since", "until", "state", "archive", "yes"}, cmd.Flags().Changed)
			if !said && a.Asks() {
				if err := pruneCount(a, cmd, args, f); err != nil {
					return err
				}
				if !a.Confirmed("Delete these, which have been over for " + older + " or longer?") {
					return cli.Failed(cli.ExitState, "prune", "bellhop prune --yes", "nothing was deleted")
				}
			}
			return prune(a, cmd, args, f, archive)
		},
	}
	c.Flags().StringVar(&older, "older-than", "3d", "jobs that ended this `time` ago or earlier, such as 3d or 36h")
	c.Flags().StringVar(&since, "since", "", "jobs that ended at this `time` (UTC) or later; 30d: 30 days ago or later")
	c.Flags().StringVar(&until, "until", "", "jobs that ended before this `time` (UTC); 30d: more than 30 days ago")
	c.Flags().StringSliceVarP(&states, "state", "s", []string{string(scheduler.Succeeded), string(scheduler.Cancelled)}, "jobs in this `state`; repeatable")
	c.Flags().Bool("yes", false, "delete without asking, on a terminal too")
	c.Flags().BoolVar(&dry, "dry-run", false, "list the jobs, and delete nothing")
	c.Flags().StringVar(&archive, "archive", "", "a `table` (job bigint, \"row\" jsonb) that gets each job before it is deleted")
	return c
}

// pruned reads which jobs are meant.
func pruned(older, since, until string, states []string) (f view.PruneFilter, err error) {
	if f.States, err = cli.ParseStates(states); err != nil {
		return f, err
	}
	for _, state := range f.States {
		if !state.Final() {
			return f, cli.Usage("prune", "a job that is "+string(state)+" has not ended", "bellhop cancel ID")
		}
	}
	if f.OlderThan, err = cli.ParseAge(older); err != nil {
		return f, cli.Usage("prune", "--older-than "+strconv.Quote(older)+": "+err.Error(), "bellhop prune --older-than 3d")
	}
	for _, flag := range []struct {
		name, text string
		to         *time.Time
	}{{"since", since, &f.Since}, {"until", until, &f.Until}} {
		if flag.text == "" {
			continue
		}
		if *flag.to, err = cli.ParseMoment(flag.text); err != nil {
			return f, cli.Usage("prune", "--"+flag.name+" "+strconv.Quote(flag.text)+" "+err.Error(),
				"bellhop prune --"+flag.name+" 2026-01-02, or --"+flag.name+" 30d")
		}
	}
	last := f.Until
	if last.IsZero() {
		last = time.Now().Add(-f.OlderThan)
	}
	if !f.Since.IsZero() && !f.Since.Before(last) {
		return f, cli.Usage("prune", "no time is since "+cli.Moment(&f.Since)+" and before "+cli.Moment(&last), "bellhop prune --since 2026-01-01 --until 2026-04-01")
	}
	return f, nil
}

// pruneCount says what prune would delete.
func pruneCount(a *cli.App, cmd *cobra.Command, args []string, f view.PruneFilter) error {
	return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
		list, err := s.PruneCount(ctx, f)
		switch {
		case err != nil:
			return err
		case a.JSON():
			return a.PrintJSON(list)
		case len(list) == 0:
			return a.Printf("nothing would be deleted\n")
		}
		t := cli.Table{Header: []string{"TYPE", "STATE", "JOBS", "FROM", "TO"}}
		for _, r := range list {
			t.Add(r.Type, r.State, r.Jobs, r.First, r.Last)
		}
		return a.PrintTable(t)
	})(cmd, args)
}

// PruneRJM deletes RJM's jobs that succeeded so long ago.
func PruneRJM(a *cli.App, cmd *cobra.Command, args []string, older string) error {
	age, err := cli.ParseAge(older)
	if err != nil {
		return cli.Usage(cmd.Name(), "--older-than "+strconv.Quote(older)+": "+err.Error(), "bellhop "+cmd.Name()+" --older-than 3d")
	}
	f := view.PruneFilter{OlderThan: age, States: []scheduler.JobState{scheduler.Succeeded}, RJM: true}
	return prune(a, cmd, args, f, "")
}

// prune deletes what it is told, and says how many.
func prune(a *cli.App, cmd *cobra.Command, args []string, f view.PruneFilter, archive string) error {
	return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
		var n int64
		var err error
		if archive != "" {
			n, err = s.PruneInto(ctx, f, archive)
		} else {
			n, err = s.Prune(ctx, f)
		}
		switch {
		case err != nil:
			return err
		case a.JSON():
			return a.PrintJSON(struct {
				Deleted int64 `json:"deleted"`
			}{n})
		case archive != "":
			return a.Printf("%d deleted, and written to %s\n", n, archive)
		}
		return a.Printf("%d deleted\n", n)
	})(cmd, args)
}
