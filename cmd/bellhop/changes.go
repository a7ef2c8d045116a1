package main

import (
	"strings"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// changing are the commands that change what is in a database: before they do, they say which one it is.
var changing = []string{
	"submit", "release", "cancel", "retry", "edit", "batch begin", "operation plan", "operation start", "operation stop", "operation undo",
	"pause", "resume", "prune", "emit", "share set", "filter add", "filter replace", "filter delete", "reload",
	"workflow apply", "workflow import", "workflow run", "workflow retry", "workflow revert", "workflow activate",
	"workflow deactivate", "workflow delete", "workflow notify add", "workflow notify edit", "workflow notify delete",
	"workflow notify test", "workflow notify again", "manager start", "manager stop", "attach", "detach",
	"migrate", "install roles", "uninstall", "rjmgo", "rjmflush", "bench",
}

// markChanges marks them below root.
func markChanges(root *cobra.Command) {
	for _, name := range changing {
		c, rest, err := root.Find(strings.Fields(name))
		if err != nil || len(rest) > 0 {
			panic("there is no command bellhop " + name)
		}
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[cli.Changes] = "yes"
	}
}
