package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
	"bellhop/cmd/bellhop/internal/mcp"
)

// Called by one of RJM's names, the program is that command.
func main() {
	args := os.Args[1:]
	if name := filepath.Base(os.Args[0]); isRJM(name) {
		args = append([]string{name}, args...)
	}
	os.Exit(run(args, os.Stdin, os.Stdout, os.Stderr))
}

// mcpCommand serves a program that speaks MCP with the commands of this one.
func mcpCommand(a *cli.App) *cobra.Command {
	return mcp.Command(a, func(ctx context.Context, a *cli.App, args []string) int {
		root := newRoot(a)
		root.SetArgs(args)
		return a.Report(root.ExecuteContext(ctx))
	})
}

// run is the program: what it prints, and its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &cli.App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: os.Getenv}
	root := newRoot(a)
	// Not nil: cobra takes os.Args then.
	root.SetArgs(append([]string{}, args...))
	return a.Report(root.ExecuteContext(context.Background()))
}
