package look

import (
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/clitest"
	"bellhop/report"
	"bellhop/sql/view"
)

// No line is wider than the terminal, however narrow that is; a link stays whole.
func TestTrace_FitsTheTerminal(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	started, ended, why := began.Add(time.Millisecond), began.Add(time.Hour), strings.Repeat("because ", 40)
	job := view.JobRow{
		ID:        7,
		Type:      "a_type_with_a_long_name",
		State:     "failed",
		CreatedAt: began,
		StartedAt: &started,
		EndedAt:   &ended,
		Age:       7200,
	}
	w := report.NewWaterfall(
		job,
		[]view.AttemptRow{{Attempt: 1, StartedAt: &started, EndedAt: &ended, Error: &why}},
		nil,
		[]view.NeedRow{
			{
				ID:        123456789,
				Type:      "another_type_with_a_long_name",
				State:     "succeeded",
				CreatedAt: began.Add(-time.Hour),
				EndedAt:   &began,
			},
		},
		"",
	)
	for _, width := range []int{1, 10, 20, 40, 59, 60, 61, 80, 200} {
		screen, program := clitest.Terminal(t, width)
		a := &cli.App{Stdout: program, Getenv: func(string) string { return "" }}
		if err := printWaterfall(a, w); err != nil {
			t.Fatal(err)
		}
		program.Close()
		text, _ := io.ReadAll(screen) // ends with EIO once the program has closed its end
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\r\n", "\n")) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: a line of %d: %q", width, n, line)
			}
		}
		if bars := strings.Contains(string(text), "█"); bars != (width >= traceNarrow) {
			t.Errorf("width %d: bars %v", width, bars)
		}
	}
}
