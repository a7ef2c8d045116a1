package workflow

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
	"bellhop/verb"
)

// ManagerCommand stops and starts the scheduling of workflows, without ending processes.
func ManagerCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "manager {stop | start | status}",
		Short:   "Stop and start the scheduling of workflows, without ending instances",
		Example: "  bellhop manager stop\n  bellhop manager status\n  bellhop manager start",
	}
	a.Menu(c)
	c.AddCommand(
		manage(a, "stop", `Keep the sensors of an instance, named by name or id, from starting workflows; without
INSTANCE, those of all, future ones included. Open runs go on, runs can be started by hand,
and events are kept. For slots that pass, catch_up decides. Other instances take over the
workflows of a stopped one.`),
		manage(a, "start", `Let the sensors of an instance, named by name or id, start workflows again; without INSTANCE, those of all.`),
		managerStatus(a))
	return c
}

func manage(a *cli.App, what, long string) *cobra.Command {
	return &cobra.Command{
		Use:     what + " [INSTANCE]",
		Short:   verb.Of("manager " + what).Summary,
		Long:    long,
		Example: "  bellhop manager " + what + "\n  bellhop manager " + what + " big1",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] == "" {
				return errors.New("it takes one instance, or none for all")
			}
			return nil
		}),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
			out, err := verb.Do(ctx, s.Look, "manager "+what, verb.In{Name: strings.Join(args, "")})
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(struct {
					Starts int `json:"starts"`
				}{out.N})
			}
			return a.Printf("%s now\n", starting(out.N))
		}),
	}
}

func starting(n int) string {
	switch n {
	case 0:
		return "no instance starts workflows"
	case 1:
		return "1 instance starts workflows"
	}
	return strconv.Itoa(n) + " instances start workflows"
}

func managerStatus(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "List instances, with their workflows, and whether they start them",
		Long:    "List instances, with their workflows, and whether they start them.",
		Example: "  bellhop manager status",
		Args:    a.NoArgs(),
		RunE: a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
			list, err := s.Manager(ctx)
			if err == nil && len(list) == 0 && !a.JSON() {
				return a.Printf("no instance is running; bellhop serve starts one\n")
			}
			return cli.PrintRows(a, list, err, "", "ID, NAME, STARTS, WORKFLOWS, STOPPED, BY", func(m view.ManagerRow) []any {
				starts := "no"
				if m.Starts {
					starts = "yes"
				}
				return []any{m.ID, m.Name, starts, m.Workflows, m.StoppedAt, m.StoppedBy}
			})
		}),
	}
}
