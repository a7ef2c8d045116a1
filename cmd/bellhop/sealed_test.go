package main

import (
	"path/filepath"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// What no agent of the type would be given is not sealed, and that is said before a database is looked for.
func TestSubmit_SealsNothingThatWouldNotOpen(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	if r := command("key", "new", keys); r.code != 0 {
		t.Fatal(r.stderr)
	}
	for want, args := range map[string][]string{
		"a job of RJM cannot be sealed: rjmproc, which runs it, has no keys": {"rjm", "x"},
		"set the job up without keys: rjmsetup":                              {"billing.1", "--var", "RJM_CONFIG=a=1"},
		"a job of type command cannot be sealed":                             {"command", "pause"},
		"a query cannot be sealed":                                           {"mail", "--msq", "select 1"},
	} {
		r := command(append(append([]string{"submit"}, args...), "--seal-with", keys)...)
		if r.code != cli.ExitUsage || !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "\n  bellhop") {
			t.Errorf("%q: exit code %d: %s", args, r.code, r.stderr)
		}
	}
}
