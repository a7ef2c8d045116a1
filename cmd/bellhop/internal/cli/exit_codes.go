package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of every command but `exit-code -q`.
const (
	ExitOK          = 0
	ExitJobFailed   = 1
	ExitUnwell      = 1 // doctor: something needs mending
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitTimeout     = 4
	ExitNoDatabase  = 5
	ExitDenied      = 6
	ExitState       = 7
	ExitSystem      = 74 // the machine does not let us read or write
	ExitSchema      = 78
	ExitNotFinished = 125 // exit-code: the job is not over
	ExitUnknown     = 126 // exit-code -q: no such job, or its code is not known
)

// ExitCodes is what the codes mean, as help and docs/exit_codes.md tell it.
var ExitCodes = []struct {
	Code    int
	Name    string
	Meaning string
}{
	{ExitOK, "ok", "it was done, or there was nothing to do"},
	{
		ExitJobFailed,
		"the job failed",
		"the job did not succeed (wait, submit --wait); or doctor or ready found a fault",
	},
	{
		ExitUsage,
		"usage",
		"the command line or bellhop.yaml is invalid: another try gives the same",
	},
	{ExitNotFound, "not found", "there is no such job, table or attachment"},
	{ExitTimeout, "timed out", "--timeout, or a limit of the database, came first: another try may succeed"},
	{ExitNoDatabase, "no database", "no connection could be made or kept, or the database is read-only: try later, or name another"},
	{ExitDenied, "not allowed", "the login lacks a right: the message names the grant"},
	{ExitState, "refused in this state", "the present state does not allow it: a running job is not retried, a key is taken"},
	{ExitSystem, "the machine", "this machine, or the database's, ran out of something, or refuses a read or write"},
	{ExitSchema, "schema", "the schema is missing, too old or too new: bellhop migrate; or the database is not UTF8"},
}

// ExitCodesTopic is a page of help, and no command.
func ExitCodesTopic(*App) *cobra.Command {
	var text strings.Builder
	text.WriteString("The exit codes of commands:\n\n")
	for _, c := range ExitCodes {
		fmt.Fprintf(&text, "  %3d  %s: %s\n", c.Code, c.Name, c.Meaning)
	}
	text.WriteString(`
"bellhop exit-code -q ID" ends with the job's own code instead: 125 if it has not
ended, 126 if its code is unknown, 128 + n if signal n killed it. Ctrl-C ends a
command with 130.`)
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of commands", Long: text.String()}
}
