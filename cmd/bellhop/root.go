package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"bellhop/pgdev"
)

// app is what all commands share: where they read and write, and the global flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	databaseURL string
	configPath  string
	dataDir     string
	download    bool // PostgreSQL's programs, where there are none
	output      output
}

// group is a heading of the help text and the commands under it.
type group struct {
	title    string
	commands []func(*app) *cobra.Command
}

// setUp is the heading under which cobra's own commands stand too.
const setUp = "Set up:"

// groups lists all commands. A new one is one file, and one word here.
func groups() []group {
	return []group{
		{"Run:", []func(*app) *cobra.Command{serveCommand, demoCommand, demoAgentCommand}},
		{"Submit and change jobs:", []func(*app) *cobra.Command{
			submitCommand, releaseCommand, cancelCommand, retryCommand, pauseCommand, resumeCommand, pruneCommand, kickCommand,
		}},
		{"Look:", []func(*app) *cobra.Command{
			lsCommand, showCommand, explainCommand, traceCommand, graphCommand, topCommand, waitCommand, exitCodeCommand, logsCommand,
			hostsCommand, agentsCommand, instancesCommand, statsCommand, readyCommand,
		}},
		{"Any table:", []func(*app) *cobra.Command{attachCommand, detachCommand, attachmentsCommand}},
		{setUp, []func(*app) *cobra.Command{
			migrateCommand, configCommand, doctorCommand, installCommand, versionCommand, agentCommand, exitCodesTopic,
		}},
		{"RJM's names (also as programs of their own):", []func(*app) *cobra.Command{
			rjmsetupCommand, rjmgoCommand, rjmlsCommand, rjmexitCommand, rjmoutCommand, rjmprocCommand, rjmdCommand, rjmflushCommand,
		}},
	}
}

// root builds the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bellhop COMMAND",
		Short: "An event-driven job scheduler on PostgreSQL",
		Example: `  bellhop submit license /srv/a.c --wait
  bellhop ls`,
		Version:       version(),
		SilenceErrors: true,
		// The flags are those of the commands.
		DisableFlagsInUseLine: true,
		SilenceUsage:          true,
	}
	a.menu(root)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("bellhop {{.Version}}\n")
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		next := cmd.CommandPath() + " --help"
		if strings.HasPrefix(err.Error(), "unknown shorthand flag") || strings.HasPrefix(err.Error(), "unknown flag") {
			next += "   (-- in front of an argument that begins with a dash)"
		}
		return usage(words(cmd), err.Error(), next)
	})

	flags := root.PersistentFlags()
	flags.StringVar(&a.databaseURL, "database-url", "", "the database; else DATABASE_URL, PGHOST and its like, the configuration, a running embedded server")
	flags.StringVarP(&a.configPath, "config", "c", "", "configuration `file` (default: BELLHOP_CONFIG, or bellhop.yaml where there is one)")
	flags.StringVar(&a.dataDir, "data-dir", pgdev.DefaultDir(), "`folder` of the embedded PostgreSQL")
	flags.BoolVar(&a.download, "pg-download", false, "download PostgreSQL where this machine has none, to run it under --data-dir")
	flags.VarP(&a.output, "output", "o", "how to print: table or json")

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
	a.completions(root)
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		a.menu(completion)
		completion.Example = "  bellhop completion bash > /etc/bash_completion.d/bellhop"
	}
	return root
}

// menu makes a command that does nothing but hold others: it shows them, and
// takes no word that is none of them.
func (a *app) menu(c *cobra.Command) {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		why := fmt.Sprintf("there is no command %q", args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			return usage(words(cmd), why, cmd.CommandPath()+" "+near[0])
		}
		return usage(words(cmd), why, cmd.CommandPath()+" --help")
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	c.SuggestionsMinimumDistance = 2
}

// words is a command as it stands after the program's name.
func words(cmd *cobra.Command) string {
	_, path, under := strings.Cut(cmd.CommandPath(), " ")
	if !under {
		return "command"
	}
	return path
}

// args turns the complaints of an argument check into usage errors.
func (a *app) args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || isFailure(err) {
			return err
		}
		return usage(words(cmd), err.Error(), cmd.UseLine())
	}
}

// noArgs is for commands that take no words.
func (a *app) noArgs() cobra.PositionalArgs {
	return a.args(func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("it takes no argument, got %q", args[0])
		}
		return nil
	})
}

// jobArgs is for commands that take ids or keys: from least on, no more than most (0: any number).
func (a *app) jobArgs(least, most int) cobra.PositionalArgs {
	return a.args(func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("which job? Give its id or its key")
		case most > 0 && len(args) > most:
			return fmt.Errorf("it takes one job, got %d words", len(args))
		}
		return nil
	})
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
