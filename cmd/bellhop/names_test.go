package main

import (
	"io"
	"strings"
	"testing"

	"bellhop/cmd/bellhop/internal/cli"
)

// A command or a flag is found by its other name, too.
func TestNames_EachOtherNameIsFound(t *testing.T) {
	t.Parallel()
	root := newRoot(&cli.App{Stdout: io.Discard, Stderr: io.Discard})
	for _, n := range otherNames {
		words := strings.Fields(n.command)
		if n.flag == "" {
			words[len(words)-1] = n.other
		}
		c, _, err := root.Find(words)
		if err != nil || c.CommandPath() != "bellhop "+n.command {
			t.Errorf("%q is %q (%v), want bellhop %s", words, c.CommandPath(), err, n.command)
			continue
		}
		if n.flag != "" && c.Flags().Lookup(n.other) != c.Flags().Lookup(n.flag) {
			t.Errorf("bellhop %s --%s is not --%s", n.command, n.other, n.flag)
		}
	}
}
