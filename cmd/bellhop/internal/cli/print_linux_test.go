package cli

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"bellhop/cmd/bellhop/internal/clitest"
)

// shown is what a table looks like on a terminal of 20 columns.
func shown(t *testing.T, env map[string]string) string {
	t.Helper()
	screen, program := clitest.Terminal(t, 20)
	a := &App{Stdout: program, Getenv: func(name string) string { return env[name] }}
	if err := a.PrintTable(Table{Header: []string{"ID", "STATE", "WHAT"}, Rows: [][]string{{"1", "failed", strings.Repeat("wörd ", 10)}}}); err != nil {
		t.Fatal(err)
	}
	program.Close()
	text, _ := io.ReadAll(screen) // ends with EIO once the program has closed its end
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestPrintTable_CutsAndColoursOnATerminal(t *testing.T) {
	t.Parallel()
	if got, want := shown(t, nil), "ID  STATE   WHAT\n1   \x1b[31mfailed\x1b[0m  wörd wö…\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, env := range map[string]map[string]string{"NO_COLOR": {"NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}} {
		got := shown(t, env)
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s: coloured: %q", name, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 20 {
				t.Errorf("%s: a line of %d: %q", name, n, line)
			}
		}
	}
}
