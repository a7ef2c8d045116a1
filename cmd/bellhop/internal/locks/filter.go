package locks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/grammar"
	"bellhop/scheduler/lock"
	"bellhop/sql/view"
	"bellhop/verb"
)

const filterExample = `bellhop filter add --action 'RATE_LIMIT 2' --predicate '["opcode",["=","type","mail"]]'`

// FilterCommand is the commands that change job filters and look at them.
func FilterCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "filter {add | replace | delete | list | info}",
		Short: "Refuse, pause or limit jobs by rules",
		Long: `Refuse, pause or limit jobs by rules. A filter is a rule; it matches a job if all of its
predicates hold. Of the matching rules, in the order (priority, watermark, id), the first
whose action is not CONTINUE decides.

Actions: ACCEPT, CONTINUE, PAUSE, REJECT, RATE_LIMIT 2 (so many at once),
RATE_LIMIT 10 per 1m (so many starts in any minute); and either of them
by vars.CUSTOMER (so many for each value of a var) or by share.
Predicates: ["jobid",E], ["opcode",E], ["reason",E]; E is ["=","type","mail"], with
= < <= > >=, ["=~",FIELD,REGEX], ["=[]",LIST,VALUE], ["?",FIELD], ["&",E…], ["|",E…], ["!",E].`,
		Example: "  " + filterExample + `
  bellhop filter add --action PAUSE --predicate '["jobid",[">","id","watermark"]]' --reason 'until noon'
  bellhop filter list`,
	}
	a.Menu(c)
	c.AddCommand(addFilter(a), replaceFilter(a), deleteFilter(a), listFilters(a), showFilter(a))
	return c
}

// rule is the flags of add and replace.
type rule struct {
	action, reason string
	predicates     []string
	priority       int
}

func (r *rule) flags(c *cobra.Command) {
	f := cli.Fields{Flags: c.Flags(), Of: grammar.Filter}
	f.Var(&r.action, "action")
	f.Var(&r.predicates, "predicates")
	f.Var(&r.priority, "priority")
	f.Var(&r.reason, "reason")
}

// row is the rule as it is to be written. It is read as the scheduler will, so that
// what cannot be right is refused before anything is written.
func (r *rule) row(a *cli.App, name string) (view.FilterRow, error) {
	row := view.FilterRow{Priority: r.priority, Reason: r.reason, Predicates: []byte("[]")}
	if strings.TrimSpace(r.action) == "" {
		return row, cli.Usage("filter "+name, "there is no --action; CONTINUE, which does nothing, must be given too",
			filterExample)
	}
	action, err := lock.ParseAction(r.action)
	if err != nil {
		return row, cli.Usage("filter "+name, err.Error(), filterExample)
	}
	row.Action = action.String()
	if r.priority < 0 {
		return row, cli.Usage("filter "+name, fmt.Sprintf("--priority %d is below 0", r.priority), "--priority 0")
	}
	var list []json.RawMessage
	for _, text := range r.predicates {
		p, err := lock.ParsePredicate(text)
		if err != nil {
			var at *lock.ExprError
			if errors.As(err, &at) {
				why := fmt.Sprintf("--predicate %s, character %d: %s", at.Text, at.At, at.Why)
				return row, cli.Usage("filter "+name, why, at.Next)
			}
			return row, cli.Usage("filter "+name, err.Error(), filterExample)
		}
		if unknown := p.UnknownFields(); len(unknown) > 0 {
			// What is told besides does not keep the rule from being written.
			_, _ = fmt.Fprintf(a.Stderr, "bellhop: warning: no job has the field %s of %s, so that a test of it never holds\n",
				cli.Clean(strings.Join(unknown, ", ")), cli.Clean(text))
		}
		list = append(list, json.RawMessage(text))
	}
	if len(list) > 0 {
		row.Predicates, err = json.Marshal(list)
	}
	return row, err
}

func addFilter(a *cli.App) *cobra.Command {
	var r rule
	c := &cobra.Command{
		Use:   "add --action ACTION [--predicate JSON]…",
		Short: "Add a filter, and print its id",
		Long: `Add a filter, and print its id. It applies at once to all jobs in the queue: a rejected job
is cancelled if it has not begun, a paused job waits. Running jobs go on, and count for a
limit.`,
		Example: "  " + filterExample,
		Args:    a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := r.row(a, "add")
			if err != nil {
				return err
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				out, err := verb.Do(ctx, s.Look, "filter add", verb.In{Filter: row})
				return written(a, out.Name, err)
			})(cmd, args)
		},
	}
	r.flags(c)
	return c
}

func replaceFilter(a *cli.App) *cobra.Command {
	var r rule
	c := &cobra.Command{
		Use:   "replace ID --action ACTION [--predicate JSON]…",
		Short: "Replace a filter, or add one under that id",
		Long: `Replace the filter with this id, or add one if there is none. Everything not given is reset,
and the watermark is that of now.`,
		Example: "  bellhop filter replace mails --action 'RATE_LIMIT 10 per 1m' --predicate '[\"opcode\",[\"=\",\"type\",\"mail\"]]'",
		Args:    oneFilter(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := r.row(a, "replace")
			if err != nil {
				return err
			}
			row.ID = args[0]
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				out, err := verb.Do(ctx, s.Look, "filter replace", verb.In{Filter: row})
				return written(a, out.Name, err)
			})(cmd, args)
		},
	}
	r.flags(c)
	return c
}

// written prints the id of a filter that stands there now.
func written(a *cli.App, id string, err error) error {
	if err != nil {
		return err
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			ID string `json:"id"`
		}{id})
	}
	return a.Printf("%s\n", id)
}

var filterID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// oneFilter takes the id of one.
func oneFilter(a *cli.App) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New("it takes the id of one filter")
		}
		if !filterID.MatchString(args[0]) {
			return fmt.Errorf("%q is not a valid id of a filter: letters a to z and A to Z, digits, . _ and -, at most 100", args[0])
		}
		return nil
	})
}

func deleteFilter(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ID",
		Short:   "Delete a filter",
		Long:    "Delete a filter. Jobs that it kept waiting are looked at again at once; jobs that it cancelled stay cancelled.",
		Example: "  bellhop filter delete mails",
		Args:    oneFilter(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			_, err := verb.Do(ctx, s.Look, "filter delete", verb.In{Name: args[0]})
			return err
		}),
	}
}

func listFilters(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the filters, in the order in which they apply",
		Long:    "List the filters, in the order in which they apply.",
		Example: "  bellhop filter list\n  bellhop filter list -o json",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			filters, err := s.Filters(ctx, nil)
			if err == nil && len(filters) == 0 && !a.JSON() {
				return a.Printf("there is no filter: every job is accepted\n")
			}
			return cli.PrintRows(a, filters, err, "", "ID, PRIORITY, WATERMARK, ACTION, PREDICATES, REASON",
				func(f view.FilterRow) []any {
					if f.Unreadable != "" {
						f.Action += " (cannot be read: bellhop filter info " + f.ID + ")"
					}
					return []any{f.ID, f.Priority, f.Watermark, f.Action, f.Predicates, f.Reason}
				})
		}),
	}
}

func showFilter(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "info ID",
		Short:   "Show one filter",
		Long:    "Show one filter: its rule, and the author and time of its last change.",
		Example: "  bellhop filter info mails",
		Args:    oneFilter(a),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			filters, err := s.Filters(ctx, &args[0])
			switch {
			case err != nil:
				return err
			case len(filters) == 0:
				return cli.Failed(cli.ExitNotFound, "filter info", verb.Filter.Hint, "there is no filter %s", args[0])
			case a.JSON():
				return a.PrintJSON(filters[0])
			}
			f := filters[0]
			if f.Unreadable != "" {
				f.Action += " (cannot be read, and counts as PAUSE; with ACCEPT or CONTINUE it is ignored: " +
					cli.Clean(f.Unreadable) + ")"
			}
			return a.Printf("id          %s\naction      %s\npredicates  %s\npriority    %d\nwatermark   %d\n"+
				"reason      %s\nsince       %s\nby          %s\n",
				f.ID, f.Action, cli.Clean(string(f.Predicates)), f.Priority, f.Watermark, cli.Clean(cmp.Or(f.Reason, "-")),
				f.CreatedAt.Local().Format(time.DateTime), cli.Clean(f.CreatedBy))
		}),
	}
}
