//go:build !unix

package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

// The commands that start processes of agents, or a server, say so here.
var (
	runCommands = []func(*cli.App) *cobra.Command{
		elsewhere("serve", "Run an instance"), elsewhere("reload", "Reload the configuration of an instance"),
		elsewhere("demo", "Watch real work go through"), elsewhere("dev", "Serve a folder's jobs while you write them"),
	}
	rjmCommands    []func(*cli.App) *cobra.Command
	tortureCommand = elsewhere("torture", "Hold every promise against every kind of harm")
	witnessCommand = elsewhere("witness", "An agent of torture's")
	agentCommand   = elsewhere("agent", "Write and check agents")
	rjmStates      []string
)

func isRJM(string) bool { return false }

// elsewhere is a command that only a unix has.
func elsewhere(name, short string) func(*cli.App) *cobra.Command {
	return func(*cli.App) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: short + " (not on " + runtime.GOOS + ")", DisableFlagParsing: true, Hidden: name == "witness",
			RunE: func(*cobra.Command, []string) error {
				return cli.Usage(name, "it starts processes, and is for Linux and macOS; this is "+runtime.GOOS,
					"bellhop "+name+"   # on a machine that serves; here: bellhop ls --database-url URL")
			},
		}
	}
}
