package workflow

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/config"
	"bellhop/scheduler/notice"
	"bellhop/sql/view"
	"bellhop/verb"
)

func addRule(a *cli.App) *cobra.Command {
	var r notice.Rule
	c := &cobra.Command{
		Use:   "add {--mail ADDRESS… | --webhook URL | --command NAME} [--project P] [--prefix P] [--when STATE…]",
		Short: "Add a rule, and print its id",
		Long: `Add a rule, and print its id. --project and --prefix restrict it to the runs of a project,
and of workflows whose names begin so, whatever the case. --command is a name among
notifications.commands in bellhop.yaml.`,
		Example: `  bellhop workflow notify add --project demo --when failed --mail ops@example.org --unless-success-within 1h
  bellhop workflow notify add --prefix import- --webhook https://hooks.example.org/bellhop`,
		Args: a.NoArgs(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := config.CheckRule(r); err != nil {
				return cli.Usage("workflow notify add", err.Error(), "bellhop workflow notify add --mail ops@example.org")
			}
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				out, err := verb.Do(ctx, s.Look, "rule", verb.In{Rule: r})
				if err != nil {
					return err
				}
				if err := warn(ctx, a, s.Look, "the rule", []notice.Rule{r}); err != nil {
					return err
				}
				if a.JSON() {
					return a.PrintJSON(struct {
						ID int64 `json:"id"`
					}{out.ID})
				}
				return a.Printf("%d\n", out.ID)
			})(cmd, args)
		},
	}
	ruleFlags(c, &r)
	r.When = []string{"failed"}
	return c
}

// ruleFlags are the parts of a rule.
func ruleFlags(c *cobra.Command, r *notice.Rule) {
	f := c.Flags()
	f.StringVar(&r.Project, "project", "", "runs of this `project`; none: of every project")
	f.StringVar(&r.Prefix, "prefix", "", "runs of workflows whose names begin with `text`")
	f.StringSliceVar(&r.When, "when", nil, "runs that ended in this `state`: succeeded, failed (default), skipped; repeatable")
	f.StringSliceVar(&r.Mail, "mail", nil, "an `address`; repeatable")
	f.StringVar(&r.Webhook, "webhook", "", "post the message to this `URL`")
	f.StringArrayVar(&r.Command, "command", nil, "the `name` of a command in bellhop.yaml")
	f.DurationVar(&r.UnlessSuccessWithin, "unless-success-within", 0,
		"not if another run has succeeded within this time, such as 1h")
}

func editRule(a *cli.App) *cobra.Command {
	var r notice.Rule
	var active bool
	var version *int
	c := &cobra.Command{
		Use: "edit ID {--mail ADDRESS… | --webhook URL | --command NAME | --project P | --prefix P | --when STATE… | " +
			"--active=false} [--version N]",
		Short: "Change parts of a rule",
		Long: `Change parts of a rule. Parts that are not given stay; an empty text removes one, as in
--webhook ''. Waiting messages are not changed. With --active=false the rule sends nothing until
it is active again. The rule does not change if another client changes it at the same time; with
--version, if another client has changed it since that version.`,
		Example: "  bellhop workflow notify edit 3 --mail ops@example.org,boss@example.org\n" +
			"  bellhop workflow notify edit 3 --project '' --unless-success-within 0\n" +
			"  bellhop workflow notify edit 3 --active=false --version 2",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := ids(a, "rule")(cmd, args); err != nil {
				return err
			}
			if len(args) > 1 {
				return cli.Usage("workflow notify edit", "it takes the id of one rule", verb.Rule.Hint)
			}
			return nil
		},
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, cmd *cobra.Command, args []string) error {
			id, _ := strconv.ParseInt(args[0], 10, 64) // checked above
			to := ruleChange{rule: r, version: version}
			if cmd.Flags().Changed("active") {
				to.active = &active
			}
			now, err := to.carryOut(ctx, s, cmd, id)
			if err != nil {
				return err
			}
			if err := warn(ctx, a, s.Look, "the rule", []notice.Rule{now}); err != nil {
				return err
			}
			return a.Printf("rule %d changed\n", id)
		}),
	}
	ruleFlags(c, &r)
	c.Flags().BoolVar(&active, "active", true, "whether the rule sends messages")
	seen(c, &version, "change it only if it has this `version`")
	return c
}

// ruleChange is an edit of a rule.
type ruleChange struct {
	rule    notice.Rule // only the parts whose flags are set count
	active  *bool       // nil: as it is
	version *int        // nil: the one that it has when it is read
}

// carryOut changes a rule, and returns its new form.
func (to ruleChange) carryOut(ctx context.Context, s *cli.Session, cmd *cobra.Command, id int64) (
	now notice.Rule, err error,
) {
	err = pgx.BeginFunc(ctx, s.Conn, func(tx pgx.Tx) error {
		l := view.NewLook(tx)
		old, version, err := ruleOf(ctx, l, id)
		if err != nil {
			return err
		}
		some := false
		if now, some = edited(cmd, old, to.rule); !some && to.active == nil {
			return cli.Usage("workflow notify edit", "no change is given",
				fmt.Sprintf("bellhop workflow notify edit %d --mail ops@example.org", id))
		}
		if err := config.CheckRule(now); err != nil {
			return cli.Usage("workflow notify edit", err.Error(), verb.Rule.Hint)
		}
		in := verb.In{ID: id, Rule: now, Active: to.active, Version: cmp.Or(to.version, &version)}
		_, err = verb.Do(ctx, l, "rule edit", in)
		return err
	})
	return now, err
}

// ruleOf reads a rule, which must be there, and its version.
func ruleOf(ctx context.Context, l view.Look, id int64) (r notice.Rule, version int, err error) {
	list, err := l.NoticeRules(ctx)
	if err != nil {
		return r, 0, err
	}
	for _, row := range list {
		if row.ID != id {
			continue
		}
		r = notice.Rule{Project: row.Project, Prefix: row.Prefix, When: row.Statuses, Mail: row.Mail,
			Webhook: cli.Text(row.Webhook), Command: row.Command}
		if row.UnlessSuccessWithin != nil {
			r.UnlessSuccessWithin = time.Duration(*row.UnlessSuccessWithin) * time.Millisecond
		}
		return r, int(row.Version), nil
	}
	return r, 0, &verb.Missing{Verb: verb.Of("rule edit"), Thing: verb.Rule, Name: strconv.FormatInt(id, 10)}
}

// edited is a rule with those parts changed that flags name, and whether there are any.
func edited(cmd *cobra.Command, r, to notice.Rule) (_ notice.Rule, some bool) {
	for flag, take := range map[string]func(){
		"project": func() { r.Project = to.Project },
		"prefix":  func() { r.Prefix = to.Prefix },
		"when":    func() { r.When = to.When },
		"mail":    func() { r.Mail = to.Mail },
		"webhook": func() { r.Webhook = to.Webhook },
		"command": func() {
			if r.Command = to.Command; strings.Join(to.Command, "") == "" {
				r.Command = nil
			}
		},
		"unless-success-within": func() { r.UnlessSuccessWithin = to.UnlessSuccessWithin },
	} {
		if cmd.Flags().Changed(flag) {
			take()
			some = true
		}
	}
	return r, some
}
