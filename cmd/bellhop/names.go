package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherNames are names that a command or a flag has beside its own. Where its own is a promised one, it is the word
// that all faces use; else it is the word that it had before. Help shows the own name alone.
var otherNames = []struct{ command, flag, other string }{
	{"filter list", "", "ls"},
	{"filter info", "", "show"},
	{"filter replace", "", "edit"},
	{"submit", "at", "run-at"},
	{"edit", "at", "run-at"},
	{"locks", "limit", "first"},
	{"cron explain", "limit", "number"},
	{"workflow runs", "limit", "number"},
	{"workflow events", "limit", "number"},
	{"workflow notify messages", "limit", "number"},
	{"workflow notify messages", "state", "status"},
	{"doctor", "older-than", "old"},
}

// nameAlso gives the commands below root their other names.
func nameAlso(root *cobra.Command) {
	for _, n := range otherNames {
		c, _, err := root.Find(strings.Fields(n.command))
		if err != nil {
			panic("bellhop " + n.command + ": " + err.Error())
		}
		if n.flag == "" {
			c.Aliases = append(c.Aliases, n.other)
			continue
		}
		if c.Flags().Lookup(n.flag) == nil {
			panic("bellhop " + n.command + " has no flag --" + n.flag)
		}
		before := c.Flags().GetNormalizeFunc()
		c.Flags().SetNormalizeFunc(func(set *pflag.FlagSet, name string) pflag.NormalizedName {
			if name == n.other {
				name = n.flag
			}
			return before(set, name)
		})
	}
}
