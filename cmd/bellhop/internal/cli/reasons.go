package cli

import (
	"strings"

	"bellhop/sql/view"
)

// PrintReasons prints why something is as it is, a line each, with what to type below it.
func (a *App) PrintReasons(reasons []view.ReasonRow) error {
	for _, r := range reasons {
		lines := strings.Split(r.Sentence, "\n")
		for i := range lines {
			lines[i] = Clean(lines[i])
		}
		if err := a.Printf("  %s: %s\n    -> %s\n", r.Code, strings.Join(lines, "\n"), Clean(r.Next)); err != nil {
			return err
		}
	}
	return nil
}
