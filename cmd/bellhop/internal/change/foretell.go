package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/report"
	"bellhop/scheduler"
	"bellhop/sql/view"
)

// foretold is how many of the jobs that need a cancelled one are shown.
const foretold = 100

// foretell says what would become of jobs that are cancelled, and of those that need them.
func foretell(a *cli.App) func(*cobra.Command, []string) error {
	return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
		jobs, missing, err := cli.FindJobs(ctx, s.Look, args)
		if err != nil {
			return err
		}
		list := []view.Below{}
		var ids []scheduler.JobID
		for _, job := range jobs {
			row, ok, err := s.Job(ctx, job.ID)
			if err != nil {
				return err
			}
			if !ok { // deleted since we looked
				continue
			}
			becomes := "cancelled"
			switch {
			case row.State.Final():
				becomes = string(row.State)
			case row.State == scheduler.Running:
				becomes = "asked to stop"
			}
			ids = append(ids, job.ID)
			list = append(list, view.Below{ID: row.ID, Key: row.Key, Type: row.Type, State: row.State, Becomes: becomes})
		}
		below, err := s.Below(ctx, ids, foretold)
		if err != nil {
			return err
		}
		list = append(list, below...)
		if a.JSON() {
			return errors.Join(a.PrintJSON(list), missing)
		}
		t := cli.Table{Header: []string{"ID", "TYPE", "STATE", "KEY", "WOULD BE"}}
		words := map[string]string{"run": "still run", "failed": "failed, since a job that it needs does not succeed",
			"blocked": "blocked, until that job succeeds", "held": "held; it fails, or runs, when it is released"}
		for _, b := range list {
			becomes := b.Becomes
			if w := words[becomes]; w != "" && b.Among > 0 {
				becomes = w
			}
			t.Add(b.ID, b.Type, b.State, b.Key, becomes)
		}
		if len(t.Rows) > 0 {
			if err := a.PrintTable(t); err != nil {
				return err
			}
		}
		if len(below) > 0 && below[0].Among > int64(len(below)) {
			a.Note("%d jobs need these; the first %d are shown", below[0].Among, len(below))
		}
		return missing
	})
}

// foretellBehind says how many jobs would be tried again with those that are named.
func foretellBehind(a *cli.App) func(*cobra.Command, []string) error {
	return a.WithDatabase(func(ctx context.Context, s *cli.Session, _ *cobra.Command, args []string) error {
		jobs, missing, err := cli.FindJobs(ctx, s.Look, args)
		if err != nil {
			return err
		}
		list := []view.Behind{}
		for _, job := range jobs {
			b, ok, err := s.Behind(ctx, job.ID)
			if err != nil {
				return err
			}
			if !ok { // deleted since we looked
				continue
			}
			list = append(list, b)
			if b.Refused() && missing == nil {
				next := fmt.Sprintf("bellhop graph %d", b.ID)
				missing = cli.Failed(cli.ExitState, "retry", next, "job %d %s", b.ID, report.Behind(b))
			}
		}
		if a.JSON() {
			return errors.Join(a.PrintJSON(list), missing)
		}
		for _, b := range list {
			if err := a.Printf("%d %s\n", b.ID, report.Behind(b)); err != nil {
				return err
			}
		}
		return missing
	})
}
