package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/sql/migrate"
	"bellhop/verb"
)

// Failure is an error as a person reads it, and its exit code. Said nothing:
// the code is all there is to say.
type Failure struct {
	Code int
	What string // what could not be done
	Why  string
	Next string // what to type next; may be empty
	// Cause is the error beneath, where one is of use to us; it is not printed.
	Cause error
}

func (f *Failure) Error() string {
	text := f.What + ": " + f.Why
	if f.Next != "" {
		text += "\n  " + f.Next
	}
	return text
}

// Usage is a command that cannot be meant as it was typed.
func Usage(what, why, next string) error {
	return &Failure{Code: ExitUsage, What: what, Why: why, Next: next}
}

func isFailure(err error) bool {
	var f *Failure
	return errors.As(err, &f)
}

// Silent ends the program with a code and without a word.
func Silent(code int) error { return &Failure{Code: code} }

// Report says what went wrong and gives the exit code.
func (a *App) Report(err error) int {
	if err == nil {
		return ExitOK
	}
	f := ExplainFailure(err)
	if f.What != "" {
		// There is nothing left to do about an error in here.
		_, _ = io.WriteString(a.Stderr, "bellhop: "+Redact(paragraph(f.Error()))+"\n")
	}
	return f.Code
}

// WithOlderBellhop is what to type where this binary cannot bring up a schema.
const WithOlderBellhop = "bellhop migrate   # of the older bellhop; then, of this one, again: bellhop migrate"

// ExplainFailure turns any error into one with an exit code.
func ExplainFailure(err error) *Failure {
	var f *Failure
	var refused *pgconn.PgError
	var missing *verb.Missing
	var unfit *verb.Unfit
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &missing):
		return &Failure{Code: ExitNotFound, What: missing.Command(), Why: missing.Error(), Next: missing.Hint}
	case errors.As(err, &unfit):
		return &Failure{Code: ExitUsage, What: unfit.Command(), Why: unfit.Error(), Next: unfit.Next}
	case errors.Is(err, migrate.ErrTooOld):
		return &Failure{Code: ExitSchema, What: "schema", Why: err.Error(), Next: "bellhop migrate"}
	case errors.Is(err, migrate.ErrBeforeBaseline):
		return &Failure{Code: ExitSchema, What: "schema", Why: err.Error(), Next: WithOlderBellhop}
	case errors.Is(err, migrate.ErrTooNew):
		return &Failure{Code: ExitSchema, What: "schema", Why: err.Error(), Next: "bellhop version"}
	case errors.As(err, &refused):
		return ExplainRefusal(err, refused)
	case IsLost(err):
		return &Failure{
			Code: ExitNoDatabase,
			What: "the connection to the database was lost",
			Why:  Flat(err.Error()),
			Next: runAgain,
		}
	case isCommandLine(err):
		return &Failure{Code: ExitUsage, What: "command", Why: err.Error(), Next: "bellhop --help"}
	}
	return &Failure{Code: ExitSystem, What: "error", Why: err.Error()}
}

// IsLost reports that a connection broke, so that it is worth opening another.
func IsLost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) { // the server's last words before it closes
		return strings.HasPrefix(refused.Code, "57P") || strings.HasPrefix(refused.Code, "08")
	}
	var network *net.OpError // not net.Error, which each error of the system is: a full disk, a file that is not there
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, context.DeadlineExceeded)
}

// isCommandLine reports an error of cobra's own that our checks did not catch:
// of the completion and help commands.
func isCommandLine(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command ") || strings.Contains(err.Error(), " arg(s), ")
}

var passwords = []*regexp.Regexp{
	regexp.MustCompile(`(://[^:@/\s]*:)\S*(@)`),
	regexp.MustCompile(`([?&]password=)[^&\s]*()`),
	regexp.MustCompile(`(\bpassword\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)()`),
}

// Redact takes passwords out of a text that may hold a database's URL.
func Redact(text string) string {
	for _, p := range passwords {
		text = p.ReplaceAllString(text, "${1}xxxxx${2}")
	}
	return text
}

// paragraph makes a text safe to print: one paragraph, whose further lines are
// indented, without control characters.
func paragraph(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	kept := lines[:0]
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if i > 0 {
			line = "  " + line
		}
		kept = append(kept, Clean(line))
	}
	return strings.Join(kept, "\n")
}

// Flat joins the lines of an error that has several.
func Flat(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// Failed is a short way to a failure with formatted reason.
func Failed(code int, what, next, format string, args ...any) error {
	return &Failure{Code: code, What: what, Why: fmt.Sprintf(format, args...), Next: next}
}
