package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

func WaitCommand(a *cli.App) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait ID...",
		Short: "Wait until jobs have ended",
		Long: `Wait until all of these jobs have ended, named by id or key, and print the outcome
of each, and its result as JSON.

Exit code: 0 if all succeeded, 1 if one did not, 4 if --timeout came first.
Ctrl-C ends the waiting: the jobs go on.`,
		Example: "  bellhop wait 42 nightly --timeout 1h",
		Args:    a.JobArgs(1, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if cmd.Flags().Changed("timeout") {
				if timeout < 0 {
					return cli.Usage("wait", "--timeout "+timeout.String()+" is below 0", "bellhop wait ID --timeout 90s")
				}
				// At least one look is taken, so that --timeout 0 asks whether they are over.
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			return a.WithDatabase(func(connected context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				jobs, missing, err := cli.FindJobs(connected, s.Look, args)
				if err != nil {
					return err
				}
				if missing != nil {
					return missing
				}
				ids := make([]scheduler.JobID, len(jobs))
				for i, job := range jobs {
					ids[i] = job.ID
				}
				outcomes, err := wait(ctx, a, s, ids, !a.JSON())
				if a.JSON() && outcomes != nil {
					err = errors.Join(a.PrintJSON(outcomes), err)
				}
				return err
			})(cmd, args)
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time, such as 90s or 2h (default: never)")
	return c
}

// wait waits until jobs are over and gives their outcomes in the order of ids;
// aloud, each is told when it is over. The error says which did not succeed, or
// which are not over when ctx ends.
func wait(
	ctx context.Context, a *cli.App, s *cli.Session, ids []scheduler.JobID, aloud bool,
) ([]view.OutcomeRow, error) {
	over, told := map[scheduler.JobID]view.OutcomeRow{}, map[string]bool{}
	pending := slices.Clone(ids)
	ear := a.NewEar()
	defer ear.Close()
	look := func(ctx context.Context) (news, done bool, err error) {
		outcomes, err := s.Outcomes(ctx, pending)
		if err != nil {
			return false, false, err
		}
		exist := map[scheduler.JobID]bool{}
		for _, o := range outcomes {
			exist[o.ID] = true
			if !o.State.Final() {
				if why := stuck(o); why != "" && !told[uncounted(o.ID, why)] {
					told[uncounted(o.ID, why)] = true
					a.Note("job %d waits: %s; see: bellhop explain %d", o.ID, why, o.ID)
				}
				continue
			}
			over[o.ID], news = o, true
			if aloud {
				if err := a.Printf("%d %s%s\n", o.ID, o.State, result(o)); err != nil {
					return news, false, err
				}
			}
		}
		for _, id := range pending {
			if !exist[id] {
				return news, false, cli.Failed(cli.ExitNotFound, "not found", "bellhop ls",
					"job %d was deleted during the wait", id)
			}
		}
		pending = slices.DeleteFunc(pending, func(id scheduler.JobID) bool { _, is := over[id]; return is })
		ear.Await(ctx, s, pending)
		return news, len(pending) == 0, nil
	}
	left := func() []scheduler.JobID { return pending }
	err := a.Watching(ctx, "wait", left, func(ctx context.Context) error { return a.PollRung(ctx, s, ear.Rung, look) })
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return judge(ids, over, pending)
}

// judge returns the known outcomes. The error names the jobs that did not succeed, or that have not ended.
func judge(
	ids []scheduler.JobID, over map[scheduler.JobID]view.OutcomeRow, pending []scheduler.JobID,
) ([]view.OutcomeRow, error) {
	outcomes := []view.OutcomeRow{}
	var bad []string
	var first scheduler.JobID
	for _, id := range ids {
		o, is := over[id]
		if !is {
			continue
		}
		outcomes = append(outcomes, o)
		if o.State != scheduler.Succeeded {
			bad, first = append(bad, cli.Flat(o.Err().Error())), cmp.Or(first, id)
		}
	}
	if len(pending) > 0 {
		return outcomes, cli.Failed(cli.ExitTimeout, "timed out", fmt.Sprintf("bellhop show %d", pending[0]), "not finished yet: %s", cli.List(pending))
	}
	if bad != nil {
		return outcomes, cli.Failed(cli.ExitJobFailed, "not succeeded", fmt.Sprintf("bellhop show %d", first),
			"%s", strings.Join(bad, "; "))
	}
	return outcomes, nil
}

// stuck is why a job does not start, when waiting alone will not change it.
func stuck(o view.OutcomeRow) string {
	if o.WaitingFor == nil || !o.Stuck {
		return ""
	}
	return cli.Flat(*o.WaitingFor)
}

// digits are what changes in a reason while it stays the same: counts and times.
var digits = regexp.MustCompile(`[0-9]+`)

// uncounted is a job's reason without its numbers: it is told once.
func uncounted(id scheduler.JobID, why string) string {
	return fmt.Sprintf("%d %s", id, digits.ReplaceAllString(why, "#"))
}

// waitForSubmitted is `submit --wait`: the id was printed, so only what it gave back is, and a bad end told.
func waitForSubmitted(ctx context.Context, a *cli.App, s *cli.Session, id scheduler.JobID) error {
	outcomes, err := wait(ctx, a, s, []scheduler.JobID{id}, false)
	if a.JSON() && len(outcomes) == 1 {
		err = errors.Join(a.PrintJSON(outcomes[0]), err)
	} else if len(outcomes) == 1 && outcomes[0].Result != nil {
		err = errors.Join(a.Printf("%s\n", cli.Escaped(outcomes[0].Result)), err)
	}
	return err
}

// result is what a job gave back, to stand behind its state.
func result(o view.OutcomeRow) string {
	if o.Result == nil {
		return ""
	}
	return " " + cli.Escaped(o.Result)
}
