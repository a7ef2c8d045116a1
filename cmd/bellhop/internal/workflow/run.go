package workflow

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

// parameters reads --param NAME=VALUE.
func parameters(list []string) (map[string]string, error) {
	given := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, cli.Usage("workflow run", fmt.Sprintf("--param %q is not of the form NAME=VALUE", p), "--param DAY=2026-11-22")
		}
		given[name] = value
	}
	return given, nil
}

// runFlags says which runs to start.
type runFlags struct {
	params, steps, events []string
	from                  string
	wait, dry, skipped    bool
}

func run(a *cli.App) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run NAME…",
		Short: "Start a run by hand; prints its id",
		Long: `Start a run by hand; prints its id. The run is never skipped: if another run of the workflow is
open, it waits until that has ended.

In NAME, * stands for any letters, ? for one letter. A pattern starts a run of each matching
active workflow: all of them, or none. --dry-run lists them, and starts nothing.

With --step only these steps run. With --from that step runs, and all steps that need it, directly
or through others.

With --event the run is that of a skipped event, with the event's parameters. With --skipped there
is one run for each skipped event, the oldest first, at most 1000; the command says whether more
are left. bellhop workflow events NAME lists them.`,
		Example: "  bellhop workflow run nightly --param DAY=2026-11-22\n  bellhop workflow run nightly --from convert --wait\n" +
			"  bellhop workflow run 'import-*' --dry-run\n  bellhop workflow run import --event 'shop.uploads=17'\n" +
			"  bellhop workflow run import --skipped",
		Args: names(a, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := parameters(f.params)
			if err != nil {
				return err
			}
			if err := f.check(args); err != nil {
				return err
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				return f.run(ctx, a, s, args, given)
			})(cmd, args)
		},
	}
	c.Flags().StringArrayVar(&f.params, "param", nil, "`NAME=VALUE` of a parameter; repeatable")
	c.Flags().StringSliceVar(&f.steps, "step", nil, "a `step` to run, and no other; repeatable")
	c.Flags().StringVar(&f.from, "from", "", "the `step` to begin with")
	c.Flags().StringArrayVar(&f.events, "event", nil, "a skipped `event`; repeatable")
	c.Flags().BoolVar(&f.skipped, "skipped", false, "each skipped event, the oldest first")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait until the run has ended; exit code 1 unless it succeeded")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "list the workflows that would run, and start nothing")
	return c
}

func (f runFlags) run(
	ctx context.Context, a *cli.App, s *cli.Session, args []string, given map[string]string,
) error {
	chosen, err := started(ctx, a, s.Look, args)
	if err != nil {
		return err
	}
	orders, err := ordered(ctx, s.Look, chosen, f.events, f.skipped)
	if err != nil {
		return err
	}
	if f.skipped && len(orders) > mostSkipped {
		orders = orders[:mostSkipped]
		a.Note("these are the %d oldest skipped events, and more are left: bellhop workflow run %s --skipped   runs those next",
			mostSkipped, chosen[0])
	}
	if f.dry {
		return foretell(a, orders)
	}
	ids, err := f.start(ctx, s, orders, given)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if len(orders) > len(args) {
			a.Note("%s: run %d%s", orders[i].name, id, orders[i].of())
		}
		if err := printRun(a, orders[i].name, id); err != nil {
			return err
		}
	}
	if f.wait {
		return await(ctx, a, s, ids)
	}
	return nil
}

func (f runFlags) check(args []string) error {
	events := f.skipped || len(f.events) > 0
	switch {
	case f.from != "" && len(f.steps) > 0:
		return cli.Usage("workflow run", "--from and --step exclude each other", "bellhop workflow run NAME --from STEP")
	case events && (len(args) != 1 || strings.ContainsAny(args[0], "*?")):
		return cli.Usage("workflow run", "--event and --skipped take one workflow", "bellhop workflow run NAME --event EVENT")
	case f.skipped && len(f.events) > 0:
		return cli.Usage("workflow run", "--event and --skipped exclude each other", "bellhop workflow run NAME --skipped")
	}
	return nil
}

// foretell is --dry-run.
func foretell(a *cli.App, orders []order) error {
	for _, o := range orders {
		if err := a.Printf("%s would run%s\n", o.name, o.of()); err != nil {
			return err
		}
	}
	return nil
}

// start starts all runs, or none.
func (f runFlags) start(
	ctx context.Context, s *cli.Session, orders []order, given map[string]string,
) (ids []int64, err error) {
	err = pgx.BeginFunc(ctx, s.Conn, func(tx pgx.Tx) error {
		for _, o := range orders {
			by := view.ByHand{Parameters: given, Steps: f.steps, Event: o.event}
			out, err := verb.Do(ctx, view.NewLook(tx), "run", verb.In{Name: o.name, From: f.from, By: by})
			if err != nil {
				return err
			}
			ids = append(ids, out.ID)
		}
		return nil
	})
	return ids, err
}

// started are the workflows of which a run is wanted, each once: those that are named, and of each pattern those
// that are active.
func started(ctx context.Context, a *cli.App, l view.Look, args []string) (chosen []string, err error) {
	for _, arg := range args {
		pattern := strings.ContainsAny(arg, "*?")
		list, err := l.Workflows(ctx, view.WorkflowFilter{Names: view.Like([]string{arg})})
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, unknown("run", arg)
		}
		some := false
		for _, w := range list {
			switch {
			case pattern && !w.Active:
				a.Note("%s is not active: it runs only if its full name is given", w.Name)
				continue
			case !slices.Contains(chosen, w.Name) || !pattern: // named twice, it runs twice
				chosen = append(chosen, w.Name)
			}
			some = true
		}
		if !some {
			return nil, cli.Failed(cli.ExitState, "workflow run", "bellhop workflow activate "+arg,
				"no workflow %s is active", arg)
		}
	}
	return chosen, nil
}

// order is a run that is to be started.
type order struct {
	name  string
	event *string // nil: of none
}

func (o order) of() string {
	if o.event == nil {
		return ""
	}
	return " of event " + cli.Clean(*o.event)
}

// mostSkipped is how many skipped events one command runs: as many runs as may be queued.
const mostSkipped = workflow.MostQueued

// ordered are the runs to start: one of each workflow; or, of the one that is named, one of each event. Of skipped
// events there is one more than one command runs, if more are left.
func ordered(ctx context.Context, l view.Look, chosen, events []string, skipped bool) (list []order, err error) {
	switch {
	case skipped:
		rows, err := l.SkippedEvents(ctx, chosen[0], mostSkipped+1)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			list = append(list, order{chosen[0], &rows[i].Event})
		}
		if len(list) == 0 {
			return nil, cli.Failed(cli.ExitState, "workflow run", "bellhop workflow events "+chosen[0],
				"no event of workflow %s was skipped", chosen[0])
		}
	case len(events) > 0:
		for i := range events {
			list = append(list, order{chosen[0], &events[i]})
		}
	default:
		for _, name := range chosen {
			list = append(list, order{name: name})
		}
	}
	return list, nil
}

func printRun(a *cli.App, name string, id int64) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Workflow string `json:"workflow"`
			Run      int64  `json:"run"`
		}{name, id})
	}
	return a.Printf("%d\n", id)
}

// await waits until runs are over.
func await(ctx context.Context, a *cli.App, s *cli.Session, ids []int64) error {
	bad := false
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT)
	defer release()
	stop := context.AfterFunc(ctx, release) // a second Ctrl-C ends the program at once
	defer stop()
	err := a.Poll(ctx, s, func(ctx context.Context) (news, done bool, err error) {
		for len(ids) > 0 {
			list, err := s.Runs(ctx, nil, &ids[0], 1)
			if err != nil || len(list) == 0 {
				return news, err == nil, err
			}
			r := list[0]
			if !slices.Contains(workflow.RunStates, r.State) {
				return news, false, nil
			}
			bad = bad || r.State != "succeeded"
			line := fmt.Sprintf("run %d %s", r.ID, r.State)
			if r.Reason != nil {
				line += ": " + *r.Reason
			}
			a.Note("%s", cli.Clean(line))
			ids, news = ids[1:], true
		}
		return news, true, nil
	})
	if errors.Is(err, context.Canceled) && len(ids) > 0 {
		for _, id := range ids {
			a.Note("run %d goes on; to look: bellhop workflow show --run %d", id, id)
		}
		return cli.Silent(cli.ExitInterrupted)
	}
	if err == nil && bad {
		return cli.Silent(cli.ExitJobFailed)
	}
	return err
}
