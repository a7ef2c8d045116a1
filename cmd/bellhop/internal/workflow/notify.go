package workflow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/scheduler/notice"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

func notify(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "notify {add | ls | edit | test | delete | messages | again}",
		Short: "Set rules for notifications of ended runs, and list the messages",
		Long: `Set rules for notifications of ended runs, in addition to those in definitions: for a
project, for workflows whose names begin with a prefix, or for all. See
docs/notifications.md.`,
		Example: `  bellhop workflow notify add --project demo --mail ops@example.org
  bellhop workflow notify messages -s given_up`,
	}
	a.Menu(c)
	c.AddCommand(addRule(a), listRules(a), editRule(a), testRule(a), deleteRule(a), messages(a), again(a))
	return c
}

// warn tells what no running instance could send: it would wait, and be given up.
func warn(ctx context.Context, a *cli.App, l view.Look, of string, rules []notice.Rule) error {
	can, instances, err := l.Tells(ctx)
	if err != nil || instances == 0 {
		return err
	}
	said := map[string]bool{}
	for _, r := range rules {
		all := r
		all.When, all.UnlessSuccessWithin, all.Project, all.Prefix = []string{"x"}, 0, "", ""
		for _, letter := range notice.Address(notice.End{State: "x"}, []notice.Rule{all}) {
			any := letter.Channel == notice.Command && slices.Contains(can, notice.AnyCommand)
			if any || slices.Contains(can, letter.Needs) || said[letter.Needs] {
				continue
			}
			said[letter.Needs] = true
			a.Note("warning: %s: %s", of, cli.Clean(lacks(letter.Needs)))
		}
	}
	return nil
}

// lacks says what an instance would need to send something.
func lacks(needs string) string {
	switch name, is := strings.CutPrefix(needs, string(notice.Command)+":"); {
	case needs == string(notice.Mail):
		return "no running instance sends mail; put smtp: {url: …, from: …} into bellhop.yaml"
	case needs == notice.AnyCommand:
		return "no running instance runs commands of the database; name it among notifications.commands in bellhop.yaml, and write that name"
	case is:
		return "no running instance has the command " + name + "; put it among notifications.commands in bellhop.yaml"
	}
	return "no running instance can send by " + needs
}

func listRules(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the rules",
		Long:    "List the notification rules. bellhop workflow show lists those in definitions.",
		Example: "  bellhop workflow notify ls",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			list, err := s.NoticeRules(ctx)
			return cli.PrintRows(a, list, err, "",
				"ID, PROJECT, PREFIX, WHEN, UNLESS SUCCESS WITHIN, TELLS, VERSION, BY, AT", ruleRow)
		}),
	}
}

func ruleRow(r view.NoticeRuleRow) []any {
	within := ""
	if r.UnlessSuccessWithin != nil {
		within = workflow.Duration(time.Duration(*r.UnlessSuccessWithin) * time.Millisecond).String()
	}
	recipients := slices.Clone(r.Mail)
	if r.Webhook != nil {
		recipients = append(recipients, *r.Webhook)
	}
	if len(r.Command) > 0 {
		recipients = append(recipients, "command "+strings.Join(r.Command, " "))
	}
	version := strconv.Itoa(int(r.Version))
	if !r.Active {
		version += ", not active"
	}
	return []any{r.ID, r.Project, r.Prefix, strings.Join(r.Statuses, ", "), within, strings.Join(recipients, ", "),
		version, r.ChangedBy, r.ChangedAt}
}

// ids takes numbers, at least one.
func ids(a *cli.App, what string) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("which %s? Give its id", what)
		}
		for _, arg := range args {
			if _, err := strconv.ParseInt(arg, 10, 64); err != nil {
				return fmt.Errorf("%q is not a valid id of a %s", arg, what)
			}
		}
		return nil
	})
}

func testRule(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "test ID…",
		Short: verb.Of("ruletest").Summary,
		Long: `Send a test message to each recipient of a rule, and print the messages' ids. They are
sent like all others, by an instance that can send them.`,
		Example: "  bellhop workflow notify test 3\n  bellhop workflow notify messages",
		Args:    ids(a, "rule"),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			for _, arg := range args {
				id, _ := strconv.ParseInt(arg, 10, 64) // checked above
				out, err := verb.Do(ctx, s.Look, "ruletest", verb.In{ID: id})
				if err != nil {
					return err
				}
				for _, m := range out.Messages {
					if err := a.Printf("%d\n", m); err != nil {
						return err
					}
				}
			}
			return nil
		}),
	}
}

func deleteRule(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ID…",
		Short:   "Delete rules; waiting messages are still sent",
		Long:    "Delete rules; waiting messages are still sent.",
		Example: "  bellhop workflow notify delete 3",
		Args:    ids(a, "rule"),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			for _, arg := range args {
				id, _ := strconv.ParseInt(arg, 10, 64) // checked above
				if _, err := verb.Do(ctx, s.Look, "unrule", verb.In{ID: id}); err != nil {
					return err
				}
				if err := a.Printf("rule %d deleted\n", id); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}
