package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of every command but `exit-code -q`.
const (
	exitOK          = 0
	exitJobFailed   = 1
	exitUnwell      = 1 // doctor: something needs mending
	exitUsage       = 2
	exitNotFound    = 3
	exitTimeout     = 4
	exitNoDatabase  = 5
	exitDenied      = 6
	exitState       = 7
	exitSystem      = 74 // the machine does not let us read or write
	exitSchema      = 78
	exitNotFinished = 125 // exit-code: the job is not over
	exitUnknown     = 126 // exit-code -q: no such job, or its code is not known
)

// exitCodes is what the codes mean, as help and docs/exit_codes.md tell it.
var exitCodes = []struct {
	code    int
	name    string
	meaning string
}{
	{exitOK, "ok", "it was done; or there was nothing left to do"},
	{exitJobFailed, "the job failed", "the job did not succeed (wait, submit --wait); doctor or ready found something to mend"},
	{exitUsage, "usage", "what was typed, or a value in it or in bellhop.yaml, cannot be right: another try gives the same"},
	{exitNotFound, "not found", "there is no such job, table or attachment"},
	{exitTimeout, "timed out", "--timeout, or a limit of the database, came first: another try may succeed"},
	{exitNoDatabase, "no database", "no connection could be made or kept, or the database takes no writes: try later, or name another"},
	{exitDenied, "not allowed", "the login lacks a right: the message names the grant"},
	{exitState, "refused in this state", "it cannot be done as things are now: a job that runs is not retried, a key is taken"},
	{exitSystem, "the machine", "the machine, or the database's, ran out of something or does not let us read or write"},
	{exitSchema, "schema", "the schema is too old, too new, or not there: bellhop migrate; or the database is not UTF8"},
}

// exitCodesTopic is a page of help, and no command.
func exitCodesTopic(*app) *cobra.Command {
	var text strings.Builder
	text.WriteString("What the exit code of a command says:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&text, "  %3d  %s: %s\n", c.code, c.name, c.meaning)
	}
	text.WriteString(`
"bellhop exit-code -q ID" ends with the job's own code instead: 125 when it is not
over, 126 when that is not known, 128 + n when signal n has killed it. Ctrl-C ends
a command with 130.`)
	return &cobra.Command{Use: "exit-codes", Short: "What the exit code of a command says", Long: text.String()}
}
