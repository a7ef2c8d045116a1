package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Called by one of RJM's names, the program is that command.
func main() {
	args := os.Args[1:]
	if name := filepath.Base(os.Args[0]); isRJM(name) {
		args = append([]string{name}, args...)
	}
	os.Exit(run(args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: what it prints, and its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}
	root := a.root()
	// Not nil: cobra takes os.Args then.
	root.SetArgs(append([]string{}, args...))
	return a.report(root.ExecuteContext(context.Background()))
}
