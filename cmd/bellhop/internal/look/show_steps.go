package look

import (
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// printSteps prints what attempts of the job have done; JSON has the whole outputs.
func printSteps(a *cli.App, list []view.KeptStepRow) error {
	if len(list) == 0 {
		return nil
	}
	t := cli.Table{Header: []string{"STEP", "AT", "OUTPUT"}}
	for _, s := range list {
		t.Add(s.Name, s.At, s.Short())
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(t)
}
