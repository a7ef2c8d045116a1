package change

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/view"
	"bellhop/verb"
)

// sweep is an order by filter, in place of ids.
type sweep struct {
	verb    string // as it is typed
	done    string // what became of the jobs
	states  []string
	types   []string
	dryRun  bool
	allowed []scheduler.JobState // for which states it can be
	usual   []scheduler.JobState // without -s
	preview bool                 // --dry-run is for IDs too: the command's own work
	order   func() (verb string, in verb.In)
}

// flags adds them to the command.
func (s *sweep) flags(c *cobra.Command) {
	c.Flags().StringSliceVarP(&s.states, "state", "s", nil, "instead of IDs: all jobs in this `state`; repeatable")
	c.Flags().StringSliceVarP(&s.types, "type", "t", nil, "instead of IDs: all jobs of this `type`; repeatable")
	what := "with -s or -t: say how many jobs would change, list the first of them, and change nothing"
	if s.preview {
		what = "list what would become of the jobs, or say how many would change, and change nothing"
	}
	c.Flags().BoolVar(&s.dryRun, "dry-run", false, what)
}

func (s *sweep) given() bool { return len(s.states)+len(s.types) > 0 }

// args wants ids, or a filter.
func (s *sweep) args(a *cli.App) cobra.PositionalArgs {
	return a.Args(func(cmd *cobra.Command, args []string) error {
		switch {
		case s.given() && len(args) > 0:
			return errors.New("it takes IDs, or -s and -t, not both")
		case s.dryRun && !s.given() && !s.preview:
			return errors.New("--dry-run goes with -s and -t")
		case !s.given() && len(args) == 0:
			return errors.New("which jobs? Give their ids or keys, or -s STATE, -t TYPE")
		}
		for _, state := range s.states {
			if !slices.Contains(s.allowed, scheduler.JobState(state)) {
				return fmt.Errorf("--state %q: %s is for jobs that are %s", state, s.verb, either(s.allowed))
			}
		}
		return nil
	})
}

func either(states []scheduler.JobState) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (s *sweep) filter() view.Filter {
	f := view.Filter{States: s.usual}
	if len(s.states) > 0 {
		f.States = nil
	}
	for _, state := range s.states {
		f.States = append(f.States, scheduler.JobState(state))
	}
	for _, t := range s.types {
		f.Types = append(f.Types, scheduler.TypeName(t))
	}
	return f
}

// sweepSamples is how many jobs a dry run shows.
const sweepSamples = 5

// run carries the order out, or only tells. Ctrl-C ends it after the thousand that
// are under way: what was done stays.
func (s *sweep) run(ctx context.Context, a *cli.App, db *cli.Session) error {
	if s.dryRun {
		return s.tell(ctx, a, db)
	}
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT)
	defer release()
	n, err := db.Sweep(ctx, s.filter(), func(ctx context.Context, ids []scheduler.JobID) ([]view.Change, error) {
		name, in := s.order()
		in.Jobs = ids
		out, err := verb.Do(ctx, db.Look, name, in)
		return out.Jobs, err
	}, func(n int64) {
		if n%1000 == 0 {
			a.Note("%s so far: %d", s.done, n)
		}
	})
	if a.JSON() {
		err = errors.Join(a.PrintJSON(map[string]int64{"count": n}), err)
	} else if err == nil || n > 0 {
		err = errors.Join(a.Printf("%d %s\n", n, s.done), err)
	}
	if errors.Is(err, context.Canceled) {
		a.Note("stopped: changes made so far stay; the same command goes on with the rest")
		return cli.Silent(cli.ExitInterrupted)
	}
	return err
}

// tell says what would be done.
func (s *sweep) tell(ctx context.Context, a *cli.App, db *cli.Session) error {
	samples, n, err := db.Pick(ctx, s.filter(), sweepSamples)
	if err != nil {
		return err
	}
	below, err := db.Dependents(ctx, s.filter(), s.verb == "cancel")
	if err != nil {
		return err
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Count      int64            `json:"count"`
			Samples    []view.Picked    `json:"samples"`
			Dependents map[string]int64 `json:"dependents"`
		}{n, samples, below})
	}
	if err := a.Printf("%d would be %s\n", n, s.done); err != nil || n == 0 {
		return err
	}
	if others := report.Dependents(below); others != "" {
		if err := a.Printf("%s\n", others); err != nil {
			return err
		}
	}
	t := cli.Table{Header: []string{"ID", "TYPE", "STATE", "KEY", "ERROR"}}
	for _, p := range samples {
		t.Add(p.ID, p.Type, p.State, p.Key, p.Error)
	}
	return a.PrintTable(t)
}

// or is the command's work: the filter's, or the one on ids.
func (s *sweep) or(a *cli.App, ids func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if !s.given() {
			return ids(cmd, args)
		}
		return a.WithDatabase(func(ctx context.Context, db *cli.Session, _ *cobra.Command, _ []string) error {
			return s.run(ctx, a, db)
		})(cmd, args)
	}
}
