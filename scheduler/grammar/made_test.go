package grammar_test

import (
	"flag"
	"os"
	"testing"

	"bellhop/scheduler/grammar"
)

var update = flag.Bool("update", false, "write the files that are made from the grammar")

// What is made from the grammar is current.
func TestMade_FilesAreCurrent(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"../../sql/functions/definition_keys.sql": grammar.DefinitionKeys(),
		"../../docs/reference.md":                 grammar.Reference(),
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
