package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/machine"
	"bellhop/sql/view"
)

// ReloadCommand is `bellhop reload`: the signal, and the wait for the answer.
func ReloadCommand(a *cli.App) *cobra.Command {
	var pid int
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "reload [INSTANCE]",
		Short: "Reload bellhop.yaml in running instances",
		Long: `Makes the instances on this machine, or INSTANCE (name or id), read their configuration
again, by SIGHUP, and prints the changes that each took. Types come, go and change.
Running jobs go on, and processes of unchanged types stay. If a file has mistakes, all of
them are printed, the instance takes none of it and goes on as before: exit code 2.
Changes that need a restart are named.`,
		Example: "  bellhop reload",
		Args: a.Args(func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("it takes one instance, got %d words", len(args))
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, _ []string) error {
				name := ""
				if len(args) == 1 {
					name = args[0]
				}
				return reloadInstances(ctx, a, s, name, pid, timeout)
			})(cmd, args)
		},
	}
	c.Flags().IntVar(&pid, "pid", 0, "the instance with this `process` id")
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "longest time of each answer")
	return c
}

// reloadAnswer is what one instance says.
type reloadAnswer struct {
	Instance string `json:"instance"`
	ID       int64  `json:"id"`
	OK       bool   `json:"ok"`
	Said     string `json:"said"`
}

func reloadInstances(
	ctx context.Context, a *cli.App, s *cli.Session, name string, pid int, timeout time.Duration,
) error {
	asked, err := ours(ctx, a, s, name, pid)
	if err != nil {
		return err
	}
	for _, r := range asked {
		if err := syscall.Kill(r.Pid, syscall.SIGHUP); errors.Is(err, os.ErrPermission) {
			return cli.Failed(cli.ExitDenied, "reload", "sudo bellhop reload; or: systemctl reload bellhop",
				"process %d of instance %s belongs to another account", r.Pid, r.Name)
		} else if err != nil {
			return cli.Failed(cli.ExitState, "reload", "bellhop instances", "instance %s: process %d: %s", r.Name, r.Pid, err)
		}
	}
	answers := []reloadAnswer{}
	patient, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = a.Poll(patient, s, func(ctx context.Context) (news, done bool, err error) {
		now, err := s.Reloads(ctx)
		if err != nil {
			return false, false, err
		}
		answers = answers[:0]
		for _, r := range asked {
			for _, n := range now {
				if n.ID == r.ID && n.ReloadedAt != nil && (r.ReloadedAt == nil || n.ReloadedAt.After(*r.ReloadedAt)) {
					answers = append(answers, reloadAnswer{n.Name, int64(n.ID), !n.ReloadFailed, n.ReloadSaid})
				}
			}
		}
		return false, len(answers) == len(asked), nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return tellReload(a, answers, len(asked), timeout)
}

// ours are the instances that are meant, each of which is a process of this machine.
func ours(ctx context.Context, a *cli.App, s *cli.Session, name string, pid int) ([]view.ReloadRow, error) {
	all, err := s.Reloads(ctx)
	if err != nil {
		return nil, err
	}
	here := machine.This()
	var list []view.ReloadRow
	for _, r := range all {
		named := name == "" || r.Name == name || strconv.FormatInt(int64(r.ID), 10) == name
		switch start, err := machine.ProcessStart(r.Pid); {
		case !named || pid != 0 && r.Pid != pid:
		case here == "" || r.Machine != here:
			a.Note("instance %s runs on %s: reload it there", r.Name, r.Hostname)
		case err == nil && start == r.ProcessStart:
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		what := "no instance runs on this machine"
		if name != "" {
			what = fmt.Sprintf("no instance with the name or id %s runs on this machine", name)
		}
		return nil, cli.Failed(cli.ExitNotFound, "reload", "bellhop instances", "%s", what)
	}
	return list, nil
}

// tellReload prints what the instances said.
func tellReload(a *cli.App, answers []reloadAnswer, asked int, timeout time.Duration) error {
	var bad []string
	for _, r := range answers {
		if !r.OK {
			bad = append(bad, r.Instance+": "+r.Said)
		}
	}
	var err error
	if a.JSON() {
		err = a.PrintJSON(answers)
	} else {
		for _, r := range answers {
			if r.OK {
				err = errors.Join(err, a.Printf("%s: %s\n", r.Instance, r.Said))
			}
		}
	}
	switch {
	case err != nil:
		return err
	case bad != nil:
		return cli.Usage("reload", strings.Join(bad, "\n"), "nothing changed: fix the file, then: bellhop reload")
	case len(answers) < asked:
		return cli.Failed(cli.ExitTimeout, "timed out", "bellhop instances", "%s of %d have not answered within %s",
			cli.Count(asked-len(answers), "instance"), asked, timeout)
	}
	return nil
}
