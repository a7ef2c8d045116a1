package main

import (
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/attach"
	"bellhop/cmd/bellhop/internal/change"
	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/doctor"
	"bellhop/cmd/bellhop/internal/locks"
	"bellhop/cmd/bellhop/internal/look"
	"bellhop/cmd/bellhop/internal/mcp"
	"bellhop/cmd/bellhop/internal/measure"
	"bellhop/cmd/bellhop/internal/setup"
	"bellhop/cmd/bellhop/internal/workflow"
	"bellhop/pgdev"
)

// group is a heading of the help text and the commands under it.
type group struct {
	title    string
	commands []func(*cli.App) *cobra.Command
}

// setUp is the heading under which cobra's own commands stand too.
const setUp = "Set up:"

// groups lists all commands. A new one is one file, and one word here.
func groups() []group {
	return []group{
		{"Run:", runCommands},
		{"Submit and change jobs:", []func(*cli.App) *cobra.Command{
			change.SubmitCommand, change.ReleaseCommand, change.CancelCommand, change.RetryCommand, change.EditCommand,
			change.BatchCommand, change.OperationCommand,
			change.PauseCommand,
			change.ResumeCommand, change.PruneCommand, change.KickCommand, change.EmitCommand, change.ShareCommand,
			locks.FilterCommand,
		}},
		{"Workflows:", []func(*cli.App) *cobra.Command{workflow.Command, workflow.CronCommand, workflow.ManagerCommand}},
		{"Look:", []func(*cli.App) *cobra.Command{
			look.LsCommand, look.ShowCommand, look.ExplainCommand, look.TraceCommand, look.GraphCommand, look.TopCommand,
			change.WaitCommand, look.ExitCodeCommand, look.LogsCommand,
			look.HostsCommand, look.AgentsCommand, look.InstancesCommand, look.LocksCommand,
			look.StatsCommand, look.HistoryCommand, look.ChangesCommand, look.ReadyCommand, look.UICommand,
		}},
		{"Locks, without a database:", []func(*cli.App) *cobra.Command{locks.WeighCommand, locks.SimulateCommand}},
		{"Any table:", []func(*cli.App) *cobra.Command{attach.Command, attach.DetachCommand, attach.AttachmentsCommand}},
		{setUp, []func(*cli.App) *cobra.Command{
			setup.MigrateCommand, setup.ConfigCommand, setup.ContextCommand, setup.KeyCommand, doctor.Command,
			setup.InstallCommand, setup.UninstallCommand, setup.VersionCommand, setup.VerifyCommand, setup.ManCommand,
			measure.BenchCommand, tortureCommand, witnessCommand,
			agentCommand, mcpCommand, mcp.SkillCommand, cli.ExitCodesTopic,
		}},
		{"RJM's names (also as programs of their own):", rjmCommands},
	}
}

// newRoot builds the tree of commands.
func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "bellhop COMMAND",
		Short: "An event-driven job scheduler on PostgreSQL",
		Example: `  bellhop submit license /srv/a.c --wait
  bellhop ls`,
		Version:       cli.Version(),
		SilenceErrors: true,
		// The flags are those of the commands.
		DisableFlagsInUseLine: true,
		SilenceUsage:          true,
	}
	a.Menu(root)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("bellhop {{.Version}}\n")
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(cli.FlagError)

	flags := root.PersistentFlags()
	flags.StringVar(&a.DatabaseURL, "database-url", "", "the database; else --context, BELLHOP_CONTEXT, "+
		"DATABASE_URL, PGHOST and its like, the configuration, the context in use, a running embedded server")
	flags.StringVar(&a.Context, "context", "", "the database of the context `NAME` (see bellhop context); else BELLHOP_CONTEXT")
	flags.BoolVar(&a.Yes, "yes", false, "change the database of a protected context without a question")
	flags.StringVarP(&a.ConfigPath, "config", "c", "", "configuration `file` (default: BELLHOP_CONFIG, or bellhop.yaml where there is one)")
	flags.StringVar(&a.DataDir, "data-dir", pgdev.DefaultDir(), "`folder` of the embedded PostgreSQL")
	flags.BoolVar(&a.Download, "pg-download", false, "download PostgreSQL where this machine has none, to run it under --data-dir")
	flags.VarP(&a.Output, "output", "o", "how to print: table or json")

	last := ""
	for _, g := range groups() {
		if g.title == setUp { // a title is its own id
			last = g.title
		}
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, constructor := range g.commands {
			c := constructor(a)
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	completions(a, root)
	markChanges(root)
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		a.Menu(completion)
		completion.Example = "  bellhop completion bash > /etc/bash_completion.d/bellhop"
	}
	nameAlso(root)
	return root
}

// helpTemplate shows an example first.
const helpTemplate = `{{if .HasExample}}Example:
{{.Example}}

{{end}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasAvailableSubCommands}}{{$all := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $all}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if not .AllChildCommandsHaveGroup}}

Commands:{{range $all}}{{if and (eq .GroupID "") .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasHelpSubCommands}}

More help:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{$.CommandPath}} help {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`
