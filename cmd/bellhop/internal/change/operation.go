package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/scheduler/grammar"
	"bellhop/scheduler/words"
	"bellhop/sql/view"
	"bellhop/verb"
)

// operationBatch is how many jobs one transaction changes.
const operationBatch = 1000

// operationVerbs are what can be ordered.
var operationVerbs = []string{"cancel", "kill", "retry", "release", "hold", "priority"}

// OperationCommand plans orders for many jobs, carries them out, stops and undoes them.
func OperationCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "operation {plan | ls | show | start | stop | undo}",
		Short: "Plan, carry out, stop and undo changes to many jobs",
		Long: `An operation is one change to many jobs. Its plan counts the jobs that match the flags
now, and changes nothing. Once the operation is started, these and no other jobs are
changed, a thousand at a time. It can be stopped, and then goes on from there. undo
takes back hold, priority and cancel of up to 10,000 jobs, unless a job has changed
since. The page Operations of the dashboard shows the same operations.`,
		Example: `  bellhop operation plan hold -t mail
  bellhop operation start 3
  bellhop operation undo 3`,
	}
	a.Menu(c)
	c.AddCommand(planOperation(a), listOperations(a), showOperation(a))
	c.AddCommand(
		onOperation(a, "start", `Carry out an operation from here, or go on with a stopped one. Ctrl-C stops it after
the current batch; changes made so far stay. If this program is killed, a running
instance goes on with the operation within minutes. kill begins after 5 s.`),
		onOperation(a, "stop", "Stop an operation after its current batch, or discard a planned one. It can be started again."),
		onOperation(a, "undo", `Undo a hold, priority or cancel of up to 10,000 jobs. Jobs changed since the operation
stay as they are.`))
	return c
}

func planOperation(a *cli.App) *cobra.Command {
	var f operationFilter
	var priority cli.Priority
	c := &cobra.Command{
		Use:   "plan VERB",
		Short: "Count the jobs that an operation would change; change nothing",
		Long: `Plan an operation on the jobs that match all flags, and say how many these are.
VERB is ` + strings.Join(operationVerbs, ", ") + `. retry takes failed and quarantined
jobs, unless -s names other states. Without any flag nothing is planned: --all means
every job.`,
		Example: `  bellhop operation plan retry -t mail --error "no route" --since 2h
  bellhop operation plan priority --priority -10 --key order.
  bellhop operation plan hold --all`,
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(operationVerbs, args[0]) {
				return fmt.Errorf("it takes one of %s", strings.Join(operationVerbs, ", "))
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := f.json()
			if err != nil {
				return cli.Usage("operation plan", err.Error(), "bellhop operation plan --help")
			}
			var level *int
			if cmd.Flags().Changed("priority") {
				n := int(priority)
				level = &n
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
				out, err := verb.Do(ctx, s.Look, "plan", verb.In{Order: args[0], Match: filter, Edit: view.Edit{Priority: level}})
				if err != nil {
					return err
				}
				return tellOperation(ctx, a, s, out.ID)
			})(cmd, args)
		},
	}
	f.flags(c)
	c.Flags().Var(&priority, "priority", "with the verb priority: "+grammar.Submission.Field("priority").Help())
	return c
}

// operationFilter is which jobs are meant, as it is typed.
type operationFilter struct {
	states, types                 []string
	key, failed, host, from, till string
	run                           int64
	all                           bool
}

func (f *operationFilter) flags(c *cobra.Command) {
	c.Flags().StringSliceVarP(&f.states, "state", "s", nil, "jobs in this `state`; repeatable")
	c.Flags().StringArrayVarP(&f.types, "type", "t", nil, "jobs of this `type`; repeatable")
	c.Flags().StringVar(&f.key, "key", "", "jobs whose key begins with `text`")
	c.Flags().StringVar(&f.failed, "error", "", "jobs whose error has this `text`")
	c.Flags().StringVar(&f.host, "host", "", "jobs on this `host`")
	c.Flags().Int64Var(&f.run, "run", 0, "jobs of this `run` of a workflow")
	c.Flags().StringVar(&f.from, "since", "", "jobs submitted at this `time` (UTC) or later; 2h: two hours ago or later")
	c.Flags().StringVar(&f.till, "until", "", "jobs submitted before this `time` (UTC); 2h: more than two hours ago")
	c.Flags().BoolVar(&f.all, "all", false, "every job")
}

// json is the filter as the database takes it.
func (f *operationFilter) json() ([]byte, error) {
	m := map[string]any{}
	for _, state := range f.states {
		if !scheduler.JobState(state).Valid() {
			return nil, fmt.Errorf("there is no state %q", state)
		}
		m["state"] = f.states
	}
	if len(f.types) > 0 {
		m["type"] = f.types
	}
	for name, text := range map[string]string{"key": f.key, "error": f.failed, "host": f.host} {
		if text != "" {
			m[name] = text
		}
	}
	if f.run != 0 {
		m["run"] = f.run
	}
	for name, text := range map[string]string{"created_after": f.from, "created_before": f.till} {
		if text == "" {
			continue
		}
		at, err := cli.ParseMoment(text)
		if err != nil {
			return nil, fmt.Errorf("%q %w", text, err)
		}
		m[name] = at
	}
	switch {
	case f.all && len(m) > 0:
		return nil, errors.New("--all goes with no other flag")
	case !f.all && len(m) == 0:
		return nil, errors.New("which jobs? Without any flag it would be all of them: --all")
	case f.all:
		m["all"] = true
	}
	return json.Marshal(m)
}

// operationArg takes the id of one.
func operationArg(a *cli.App) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			if n, err := strconv.ParseInt(args[0], 10, 64); err == nil && n > 0 {
				return nil
			}
		}
		return errors.New("it takes the id of one operation")
	})
}

// onOperation is a verb of one that is named by its id; start carries it out, too.
func onOperation(a *cli.App, name, long string) *cobra.Command {
	return &cobra.Command{
		Use:     name + " ID",
		Short:   verb.Of(name).Summary,
		Long:    long,
		Example: "  bellhop operation " + name + " 3",
		Args:    operationArg(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			id, _ := strconv.ParseInt(args[0], 10, 64) // checked above
			out, err := verb.Do(ctx, s.Look, name, verb.In{ID: id})
			switch {
			case err != nil:
				return err
			case name != "start":
				return tellOperation(ctx, a, s, id)
			case out.Name != "running":
				return cli.Failed(cli.ExitState, "operation start", fmt.Sprintf("bellhop operation show %d", id), "operation %d is %s", id, out.Name)
			}
			return carryOut(ctx, a, s, id)
		}),
	}
}

// tellOperation shows one, with what can be done with it.
func tellOperation(ctx context.Context, a *cli.App, s *cli.Session, id int64) error {
	o, ok, err := s.Operation(ctx, id)
	switch {
	case err != nil:
		return err
	case !ok:
		return &verb.Missing{Thing: verb.Operation, Name: strconv.FormatInt(id, 10)}
	case a.JSON():
		return a.PrintJSON(o)
	}
	lines := []string{
		fmt.Sprintf("operation %d: %s, %s", o.ID, report.Order(o), o.State),
		words.Clean(report.OperationFilter(o.Filter)),
	}
	if o.StartedAt == nil {
		lines = append(lines, words.Counted(o.Planned, "job")+" would be changed")
		if others := report.Dependents(o.Dependents); others != "" {
			lines = append(lines, others)
		}
	} else {
		lines = append(lines, howMuch(o))
	}
	if o.Error != nil {
		lines = append(lines, "the last that could not be changed: "+words.Clean(*o.Error))
	}
	if next := nextOf(o); next != "" {
		lines = append(lines, next)
	}
	if err := a.Printf("%s\n", strings.Join(lines, "\n")); err != nil || o.StartedAt != nil || len(o.Samples) == 0 {
		return err
	}
	t := cli.Table{Header: []string{"ID", "TYPE", "STATE", "KEY"}}
	for _, j := range o.Samples {
		t.Add(j.ID, j.Type, j.State, j.Key)
	}
	return a.PrintTable(t)
}

// howMuch is how far one is.
func howMuch(o view.OperationRow) string {
	text := fmt.Sprintf("%d of %d done", o.Done, o.Planned)
	if o.Refused > 0 {
		text += fmt.Sprintf(", %d could not be changed", o.Refused)
	}
	if o.Undone > 0 {
		text += fmt.Sprintf(", %d made what they were", o.Undone)
	}
	return text
}

// nextOf is what can be typed next.
func nextOf(o view.OperationRow) string {
	switch {
	case o.State == "planned" && o.Planned > 0, o.State == "stopped":
		return fmt.Sprintf("bellhop operation start %d", o.ID)
	case o.State == "running":
		return fmt.Sprintf("bellhop operation stop %d", o.ID)
	case o.State == "done" && o.Done > 0 && report.Undoable(o):
		return fmt.Sprintf("bellhop operation undo %d", o.ID)
	}
	return ""
}

func listOperations(a *cli.App) *cobra.Command {
	limit := 20
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List operations, the newest first",
		Long:    "List operations, the newest first: change, author and progress.",
		Example: "  bellhop operation ls --limit 100",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			list, err := s.Operations(ctx, nil, limit)
			return cli.PrintRows(a, list, err, "there is no operation; bellhop operation plan --help says how to make one",
				"ID, STATE, ORDER, DONE, OF, BY, PLANNED, FOR", func(o view.OperationRow) []any {
					by := o.PlannedBy
					if o.Actor != nil {
						by = *o.Actor
					}
					return []any{o.ID, o.State, report.Order(o), o.Done, o.Planned, by, o.PlannedAt, report.OperationFilter(o.Filter)}
				})
		}),
	}
	c.Flags().IntVar(&limit, "limit", limit, "list at most so many")
	return c
}

func showOperation(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show an operation and its progress",
		Long:    "Show an operation: its jobs, its progress, and the commands that can follow.",
		Example: "  bellhop operation show 3",
		Args:    operationArg(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			id, _ := strconv.ParseInt(args[0], 10, 64) // checked above
			return tellOperation(ctx, a, s, id)
		}),
	}
}

// carryOut does batch after batch, until it is done, or stopped by whomever.
func carryOut(ctx context.Context, a *cli.App, s *cli.Session, id int64) error {
	heard, release := signal.NotifyContext(ctx, syscall.SIGINT)
	defer release()
	err := a.Poll(heard, s, func(_ context.Context) (news, done bool, err error) {
		// Not under the time of one answer: each batch has that of its statement.
		for range 10 {
			state, err := s.StepOperation(ctx, id, operationBatch)
			switch {
			case err != nil || state == nil:
				return false, true, err
			case *state == "waiting": // it begins later, or others have what is left
				return false, false, nil
			case *state != "running":
				return false, true, nil
			case heard.Err() != nil:
				return true, false, nil
			}
		}
		return true, false, nil
	})
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		if _, err := s.StopOperation(ctx, id); err != nil {
			return err
		}
		a.Note("stopped: changes made so far stay; to go on: bellhop operation start %d", id)
		return cli.Silent(cli.ExitInterrupted)
	}
	if err != nil {
		return err
	}
	return tellOperation(ctx, a, s, id)
}
