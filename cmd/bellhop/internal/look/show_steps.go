package look

import (
	"unicode/utf8"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/sql/view"
)

// shownOutput is how much of a step's output a table shows; JSON has all of it.
const shownOutput = 60

// printSteps prints what attempts of the job have done.
func printSteps(a *cli.App, list []view.KeptStepRow) error {
	if len(list) == 0 {
		return nil
	}
	t := cli.Table{Header: []string{"STEP", "AT", "OUTPUT"}}
	for _, s := range list {
		output := string(s.Output)
		if utf8.RuneCountInString(output) > shownOutput {
			output = string([]rune(output)[:shownOutput-1]) + "…"
		}
		t.Add(s.Name, s.At, output)
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(t)
}
