package grammar_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"bellhop/scheduler/grammar"
)

var update = flag.Bool("update", false, "write the files that are made from the grammar")

// What is made from the grammar is current.
func TestMade_FilesAreCurrent(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"../../sql/functions/definition_keys.sql": grammar.DefinitionKeys(),
		"../../triggers/refuse.sql":               grammar.Refuse(textOf(t, "../../triggers/refuse.sql")),
		"../../sql/view/submission.go":            submissionStruct(t),
		"../../docs/reference.md":                 grammar.Reference(),
		"../../examples/everyday/bellhop.py":      withColumns(t, "../../examples/everyday/bellhop.py", "    ", `"%s": "%s"`),
		"../../examples/everyday/bellhop.js":      withColumns(t, "../../examples/everyday/bellhop.js", "  ", `%s: '%s'`),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if is, err := os.ReadFile(file); err != nil || string(is) != want {
			t.Errorf("%s is stale (%v): make generate, and look at the difference", file, err)
		}
	}
}

// withColumns is a client's file with its list of columns made again.
func withColumns(t *testing.T, file, indent, format string) string {
	t.Helper()
	head, rest, begins := strings.Cut(textOf(t, file), "COLUMNS = {\n")
	_, tail, ends := strings.Cut(rest, "}\n")
	if !begins || !ends {
		t.Fatalf("%s has no COLUMNS", file)
	}
	columns := indent + strings.ReplaceAll(grammar.Columns(format), "\n", "\n"+indent)
	return head + "COLUMNS = {\n" + columns + "\n}\n" + tail
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
