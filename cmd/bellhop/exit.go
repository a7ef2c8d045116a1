package main

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
	exitSystem      = 74 // the machine does not let us read or write
	exitSchema      = 78
	exitNotFinished = 125 // exit-code: the job is not over
	exitUnknown     = 126 // exit-code -q: no such job, or its code is not known
)

// failure is an error as a person reads it, and its exit code. Said nothing:
// the code is all there is to say.
type failure struct {
	code int
	what string // what could not be done
	why  string
	next string // what to type next; may be empty
}

func (f *failure) Error() string {
	text := f.what + ": " + f.why
	if f.next != "" {
		text += "\n  " + f.next
	}
	return text
}

// usage is a command that cannot be meant as it was typed.
func usage(what, why, next string) error { return &failure{exitUsage, what, why, next} }

func isFailure(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// silent ends the program with a code and without a word.
func silent(code int) error { return &failure{code: code} }

// report says what went wrong and gives the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	f := explainFailure(err)
	if f.what != "" {
		// There is nothing left to do about an error in here.
		_, _ = io.WriteString(a.stderr, "bellhop: "+redact(paragraph(f.Error()))+"\n")
	}
	return f.code
}

// explainFailure turns any error into one with an exit code.
func explainFailure(err error) *failure {
	var f *failure
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, migrate.ErrTooOld):
		return &failure{exitSchema, "schema", err.Error(), "bellhop migrate"}
	case errors.Is(err, migrate.ErrTooNew):
		return &failure{exitSchema, "schema", err.Error(), "bellhop version"}
	case errors.As(err, &refused):
		return explainRefusal(err, refused)
	case isLost(err):
		return &failure{exitNoDatabase, "the connection to the database was lost", flat(err.Error()), "run it again; what was asked for may or may not have been done"}
	case isCommandLine(err):
		return &failure{exitUsage, "command", err.Error(), "bellhop --help"}
	}
	return &failure{exitSystem, "error", err.Error(), ""}
}

// explainRefusal is for what the database said no to.
func explainRefusal(err error, e *pgconn.PgError) *failure {
	what := "the database refused"
	why := e.Message
	if e.Detail != "" {
		why += " (" + e.Detail + ")"
	}
	switch {
	case e.Code == "42501": // insufficient_privilege
		return &failure{exitNoDatabase, "not allowed", why, "ask for a role: grant bellhop_operator to …  (bellhop_reader to look, bellhop_submitter to submit)"}
	case e.Code == "25006": // read_only_sql_transaction
		return &failure{exitNoDatabase, "the database is read-only", why, "name the primary server, not a standby: --database-url"}
	case strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08"):
		return &failure{exitNoDatabase, "the connection to the database was lost", why, "run it again; what was asked for may or may not have been done"}
	}
	// The chain says what was being done: "list jobs: ERROR: …".
	if doing, _, ok := strings.Cut(err.Error(), ": "+e.Severity); ok {
		what = doing
	}
	next := e.Hint
	if next == "" {
		next = "SQLSTATE " + e.Code
	}
	return &failure{exitNoDatabase, what, why, next}
}

// isLost reports that a connection broke, so that it is worth opening another.
func isLost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) { // the server's last words before it closes
		return strings.HasPrefix(refused.Code, "57P") || strings.HasPrefix(refused.Code, "08")
	}
	var network net.Error
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

// redact takes passwords out of a text that may hold a database's URL.
func redact(text string) string {
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
		kept = append(kept, clean(line))
	}
	return strings.Join(kept, "\n")
}

// flat joins the lines of an error that has several.
func flat(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// failed is a short way to a failure with formatted reason.
func failed(code int, what, next, format string, args ...any) error {
	return &failure{code, what, fmt.Sprintf(format, args...), next}
}
