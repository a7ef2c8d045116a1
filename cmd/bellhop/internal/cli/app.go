// Package cli is what all commands share: where they read and write, the global
// flags, how the database and the configuration are found, tables, the names of
// jobs, and how an error becomes an exit code and one paragraph (exit.go, and
// nowhere else). It knows no command.
package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// App is what all commands share: where they read and write, and the global flags.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string

	DatabaseURL string
	Context     string // the name of a database
	Yes         bool   // change what is protected without a question
	ConfigPath  string
	DataDir     string
	Download    bool // PostgreSQL's programs, where there are none
	Output      output
}

// Menu makes a command that does nothing but hold others: it shows them, and
// takes no word that is none of them.
func (a *App) Menu(c *cobra.Command) {
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		why := fmt.Sprintf("there is no command %q", args[0])
		var known []string // cobra's own suggestions are in the order of the menu: serv would be dev
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				known = append(known, c.Name())
			}
		}
		if near, ok := nearestCommand(args[0], known); ok {
			return Usage(CommandWords(cmd), why, cmd.CommandPath()+" "+near)
		}
		return Usage(CommandWords(cmd), why, cmd.CommandPath()+" --help")
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// CommandWords is a command as it stands after the program's name.
func CommandWords(cmd *cobra.Command) string {
	_, path, under := strings.Cut(cmd.CommandPath(), " ")
	if !under {
		return "command"
	}
	return path
}

// Args turns the complaints of an argument check into usage errors.
func (a *App) Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || isFailure(err) {
			return err
		}
		return Usage(CommandWords(cmd), err.Error(), cmd.UseLine())
	}
}

// NoArgs is for commands that take no words.
func (a *App) NoArgs() cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("it takes no argument, got %q", args[0])
		}
		return nil
	})
}

// JobArgs is for commands that take ids or keys: from least on, no more than most (0: any number).
func (a *App) JobArgs(least, most int) cobra.PositionalArgs {
	return a.Args(func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("which job? Give its id or its key")
		case most > 0 && len(args) > most:
			return fmt.Errorf("it takes one job, got %d words", len(args))
		}
		return nil
	})
}
