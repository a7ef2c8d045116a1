//go:build unix

package main

import (
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/agentkit"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/demo"
	"bellhop/cmd/bellhop/internal/dev"
	"bellhop/cmd/bellhop/internal/rjm"
	"bellhop/cmd/bellhop/internal/serve"
	"bellhop/cmd/bellhop/internal/torture"
)

// The commands that start processes of agents, or a server. local_other.go has what stands for them elsewhere.
var (
	runCommands = []func(*cli.App) *cobra.Command{
		serve.Command, serve.ReloadCommand, serve.BuryCommand, demo.Command, dev.Command, demo.AgentCommand,
	}
	rjmCommands = []func(*cli.App) *cobra.Command{
		rjm.SetupCommand, rjm.GoCommand, rjm.LsCommand, rjm.ExitCommand, rjm.OutCommand, rjm.ProcCommand, rjm.DaemonCommand,
		rjm.FlushCommand,
	}
	tortureCommand, witnessCommand, agentCommand = torture.Command, torture.WitnessCommand, agentkit.Command

	isRJM     = rjm.Is
	rjmStates = rjm.States
)
