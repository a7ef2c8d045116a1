package look

import (
	"cmp"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// printRemote prints what a job has, or had, on engines.
func printRemote(a *cli.App, list []view.RemoteRow) error {
	if len(list) == 0 {
		return nil
	}
	t := cli.Table{Header: []string{"ATTEMPT", "ENGINE", "TAG", "THERE", "STATE", "SENT_AT", "RAN_AT", "ENDED_AT"}}
	for _, r := range list {
		state := r.State
		if said := cmp.Or(cli.Text(r.How), cli.Text(r.Stage)); said != "" {
			state += ", " + said
		}
		t.Add(r.Attempt, r.Engine, r.Tag, r.EngineID, state, r.SentAt, r.RanAt, r.EndedAt)
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(t)
}
