package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// Between these marks docs/commands.md has what the program says of its commands.
const (
	commandsBegin = "<!-- made by make generate -->\n"
	commandsEnd   = "<!-- end -->\n"
)

// commandsTable is each command in a row, below the title of its group.
func commandsTable(root *cobra.Command) string {
	var b strings.Builder
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| command | what it does | subcommands |\n|---|---|---|\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID != g.ID || c.Hidden {
				continue
			}
			var parts []string
			for _, sub := range c.Commands() {
				if sub.IsAvailableCommand() {
					parts = append(parts, "`"+sub.Name()+"`")
				}
			}
			fmt.Fprintf(&b, "| `bellhop %s` | %s | %s |\n", c.Name(), c.Short, cmp.Or(strings.Join(parts, ", "), "–"))
		}
	}
	return b.String() + "\n"
}

// The page lists the commands that there are, in the words of their help.
func TestCommandsDoc_ListsEachCommand(t *testing.T) {
	t.Parallel()
	const name = "../../docs/commands.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), commandsBegin)
	_, after, closed := strings.Cut(rest, commandsEnd)
	if !ok || !closed {
		t.Fatalf("%s lacks the marks %q and %q", name, commandsBegin, commandsEnd)
	}
	made := before + commandsBegin + commandsTable(newRoot(&cli.App{})) + commandsEnd + after
	if *updateSkill {
		if err := os.WriteFile(name, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if made != string(page) {
		t.Errorf("%s is not what the program says: make generate", name)
	}
}
